//! An upload from a file: as one object if it is small, else in parts, of which one at a time is in memory.
#![expect(clippy::disallowed_methods, reason = "the artifacts are a declared home of files")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use bytes::Bytes;
use http::Method;
use http::header::ETAG;
use rusty_s3::S3Action as _;
use rusty_s3::actions::{CompleteMultipartUploadResponse, CreateMultipartUpload};
use url::Url;

use crate::draft::Whole;
use crate::error::ArtifactError;
use crate::objects::Objects;
use crate::request::{Answer, Asked, SIGNED_FOR, strange};

/// The least that a part may have which is not the last.
const PART_BYTES: u64 = 5 * 1024 * 1024;

/// The most parts of one upload.
const PARTS_MAX: u64 = 10_000;

/// The largest artifact that a bucket takes.
pub(crate) const BYTES_MAX: u64 = PART_BYTES * PARTS_MAX;

/// Keeps a content under its hash. It is there when this returns.
pub(crate) async fn put(objects: &Objects, whole: &Whole) -> Result<(), ArtifactError> {
    let (file, key) = (File::open(&whole.path)?, objects.at.key_of(&whole.sha256));
    let keys = objects.keys()?;
    if whole.bytes <= PART_BYTES {
        let url = objects.at.bucket.put_object(Some(keys), &key).sign(SIGNED_FOR);
        return asked(objects, Method::PUT, url, part(&file, 0, whole.bytes)?).await.map(drop);
    }
    let url = objects.at.bucket.create_multipart_upload(Some(keys), &key).sign(SIGNED_FOR);
    let begun = asked(objects, Method::POST, url, Bytes::new()).await?;
    let begun = CreateMultipartUpload::parse_response(begun.text()?).map_err(|_| strange())?;
    let done = in_parts(objects, &key, begun.upload_id(), (&file, whole.bytes)).await;
    if done.is_err() {
        let url =
            objects.at.bucket.abort_multipart_upload(Some(keys), &key, begun.upload_id()).sign(SIGNED_FOR);
        // What is left of it is for the bucket's own rules then.
        let _ = Asked::of(Method::DELETE, url).by(&objects.client).await;
    }
    done
}

async fn in_parts(
    objects: &Objects,
    key: &str,
    upload: &str,
    (file, bytes): (&File, u64),
) -> Result<(), ArtifactError> {
    let (bucket, keys) = (&objects.at.bucket, objects.keys()?);
    let mut tags = Vec::new();
    for (number, from) in (1..).zip((0..bytes).step_by(PART_BYTES as usize)) {
        let url = bucket.upload_part(Some(keys), key, number, upload).sign(SIGNED_FOR);
        let body = part(file, from, PART_BYTES.min(bytes - from))?;
        let answer = asked(objects, Method::PUT, url, body).await?;
        let tag = answer.headers.get(ETAG).and_then(|tag| tag.to_str().ok()).ok_or_else(strange)?;
        tags.push(tag.to_owned());
    }
    let together =
        || bucket.complete_multipart_upload(Some(keys), key, upload, tags.iter().map(String::as_str));
    let asked = Asked::of(Method::POST, together().sign(SIGNED_FOR)).with(together().body()).patiently();
    let answer = asked.by(&objects.client).await?.good()?;
    // It may have begun to answer before it knew that it cannot.
    CompleteMultipartUploadResponse::parse(answer.text()?).map(drop).map_err(|_| answer.refused())
}

async fn asked(objects: &Objects, method: Method, url: Url, body: Bytes) -> Result<Answer, ArtifactError> {
    Asked::of(method, url).with(body).by(&objects.client).await?.good()
}

/// The thread is one that may wait for the disk.
fn part(file: &File, from: u64, bytes: u64) -> Result<Bytes, ArtifactError> {
    let mut part = vec![0; bytes as usize];
    file.read_exact_at(&mut part, from)?;
    Ok(part.into())
}
