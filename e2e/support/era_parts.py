"""What a client of any era must be able to do with an upstream of any era: the list of era_parts.mjs for Python clients.

A client is an object with `tools`, `call`, `resources`, `templates`, `read`, `prompts`, `prompt` and `complete`, each
returning the types of the SDK.
"""

import mcp_types as types

from harness import NODE, check, check_holds, fixture, hears_steps, text_of

#: The fixture of the conformance suites as upstreams of one era each, by name and prefix.
ERA_UPSTREAMS = {
    era: {"command": NODE, "args": [fixture("conformance/server.mjs"), "--era", era, "--stdio"]}
    for era in ["legacy", "modern", "dual"]
}

#: What every client under test answers when it is asked.
FORM = {"username": "ada", "email": "ada@example.org", "name": "Ada"}
SENTENCE = "a sentence of the model"
ROOT = "file:///where/the/client/works"


async def answer_form(_context, _params):
    """An elicitation callback of the SDK."""
    return types.ElicitResult(action="accept", content=FORM)


async def answer_sample(_context, _params):
    """A sampling callback of the SDK."""
    content = types.TextContent(type="text", text=SENTENCE)
    return types.CreateMessageResult(role="assistant", content=content, model="none", stop_reason="endTurn")


async def answer_roots(_context):
    """A callback of the SDK for the client's roots."""
    return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="work")])


class SdkClient:
    """The client of the SDK, with lists as lists."""

    def __init__(self, client):
        self.client = client
        self.read = client.read_resource
        self.prompt = client.get_prompt
        self.complete = client.complete

    async def call(self, name, arguments=None, progress=None):
        return await self.client.call_tool(name, arguments or {}, progress_callback=progress)

    async def tools(self):
        return await self._all(self.client.list_tools, "tools")

    async def resources(self):
        return await self._all(self.client.list_resources, "resources")

    async def templates(self):
        return await self._all(self.client.list_resource_templates, "resource_templates")

    async def prompts(self):
        return await self._all(self.client.list_prompts, "prompts")

    async def _all(self, fetch, key):
        entries, cursor = [], None
        while True:
            page = await fetch(cursor=cursor)
            entries += getattr(page, key)
            cursor = page.next_cursor
            if cursor is None:
                return entries


def era_parts(who, client, upstream):
    """The list for one client and the upstream of that prefix; "" means that names are its own."""

    def named(name):
        return f"{upstream}_{name}" if upstream else name

    def located(uri):
        return f"{upstream}+{uri}" if upstream else uri

    async def text(name, arguments=None):
        return text_of(await client.call(named(name), arguments))

    async def lists_its_tools():
        names = [tool.name for tool in await client.tools()]
        check(named("test_simple_text") in names, named("test_simple_text"), names)
        check(len(set(names)) == len(names), "names listed once", names)

    async def calls_a_tool():
        check_holds("the text", await text("test_simple_text"), "simple text response")

    async def passes_content_of_every_kind():
        content = (await client.call(named("test_multiple_content_types"))).content
        check(
            [block.type for block in content] == ["text", "image", "resource"],
            "text, image, resource",
            content,
        )
        uri = located("test://mixed-content-resource")
        check(str(content[2].resource.uri) == uri, uri, content[2])

    async def passes_structured_content():
        result = await client.call(named("test_structured_content"))
        check(result.structured_content == {"answer": 42}, {"answer": 42}, result)

    async def tells_a_failed_call_from_a_good_one():
        failed = await client.call(named("test_error_handling"))
        check(failed.is_error, "an error result", failed)
        check_holds("its text", text_of(failed), "intentionally")

    async def passes_a_parameter_that_may_travel_in_a_header():
        check_holds(
            "the text",
            await text("test_header_parameter", {"region": "Zürich, eu-1"}),
            "region: Zürich, eu-1",
        )

    async def passes_progress_in_order():
        await hears_steps(
            [(0, 100), (50, 100)], lambda hear: client.call(named("test_tool_with_progress"), {}, hear)
        )

    async def answers_a_form():
        told = await text("test_elicitation", {"message": "Who are you?"})
        check_holds("the text", told, "action: accept", FORM["email"])

    async def answers_two_forms_one_after_the_other():
        check_holds(
            "the text", await text("test_input_required_result_multi_round"), "step1", "step2", "accept"
        )

    async def answers_for_the_model():
        check_holds("the text", await text("test_sampling", {"prompt": "Say something."}), SENTENCE)

    async def tells_its_roots():
        check_holds("the text", await text("test_input_required_result_list_roots"), ROOT)

    async def answers_three_questions_at_once():
        check_holds(
            "the text", await text("test_input_required_result_multiple_inputs"), "ada", SENTENCE, ROOT
        )

    async def lists_its_resources():
        uris = [str(resource.uri) for resource in await client.resources()]
        check(located("test://static-text") in uris, located("test://static-text"), uris)

    async def lists_its_templates():
        templates = [template.uri_template for template in await client.templates()]
        check(located("test://template/{id}/data") in templates, "the template", templates)

    async def reads_a_resource():
        contents = (await client.read(located("test://static-text"))).contents
        check(str(contents[0].uri) == located("test://static-text"), "its URI", contents)
        check_holds("its text", contents[0].text, "the content of test://static-text")

    async def reads_what_a_template_describes():
        contents = (await client.read(located("test://template/17/data"))).contents
        check_holds("its text", contents[0].text, "Data for ID: 17")

    async def lists_its_prompts():
        names = [prompt.name for prompt in await client.prompts()]
        check(named("test_simple_prompt") in names, named("test_simple_prompt"), names)

    async def gets_a_prompt():
        prompt = await client.prompt(named("test_prompt_with_arguments"), {"arg1": "one", "arg2": "two"})
        check_holds("its text", prompt.messages[0].content.text, "arg1='one'", "arg2='two'")

    async def completes_an_argument():
        ref = types.PromptReference(type="ref/prompt", name=named("test_prompt_with_arguments"))
        values = (await client.complete(ref, {"name": "arg1", "value": "par"})).completion.values
        check(values == ["paris", "park", "party"], "three values", values)

    parts = [
        part
        for name, part in locals().items()
        if name not in ("who", "client", "upstream", "named", "located", "text")
    ]
    for part in parts:
        part.__name__ = f"{who}, {upstream} upstream: {part.__name__}"
    return parts
