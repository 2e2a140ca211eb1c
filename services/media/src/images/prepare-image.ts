import { ServiceError } from '@switchyard/contracts';
import { convertImage, hasFfmpeg, NO_FFMPEG } from '../conversion/ffmpeg.ts';
import { requireChildren } from '../processes/child-permission.ts';
import { runChild } from '../processes/child-run.ts';
import { buildParserCommand } from '../processes/sandbox.ts';
import type { ImageRequest, ImageResponse } from '../parsers/protocol/image-protocol.ts';
import { detectMedia } from '../transcription/detect-audio.ts';
import type { Visual } from '../vision/visual.ts';

const MAX_PIXELS = 40_000_000;
/** Providers take images of 5 MB in base64. */
const MAX_ENCODED_BYTES = 3_750_000;
const MAX_SIDE = 2_048;
const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const HEIC = new Set(['image/heic', 'image/heif', 'image/heic-sequence', 'image/heif-sequence']);

/** Detects and prepares an image for a provider: upright, without metadata, and small enough. */
export async function prepareImage(bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Visual> {
  if (bytes.length === 0) throw invalid('NOT_AN_IMAGE', 'the image is empty: expected at least one byte');
  const { kind, mimeType } = await detectMedia(bytes);
  if (HEIC.has(mimeType)) throw invalid('IMAGE_TYPE_UNSUPPORTED', 'HEIC images are not supported: send JPEG, PNG, WebP, GIF, AVIF or TIFF');
  if (kind !== 'image') throw describeOther(bytes, mimeType);
  // The image library does not read BMP.
  const readable = mimeType === 'image/bmp' ? await convertBmp(bytes, signal) : bytes;
  return shrink(readable, signal);
}

async function convertBmp(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  if (!hasFfmpeg()) throw invalid('FFMPEG_NOT_INSTALLED', `BMP images need ffmpeg. ${NO_FFMPEG}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pixels = bytes.length < 26 ? 0 : Math.abs(view.getInt32(18, true) * view.getInt32(22, true));
  if (pixels > MAX_PIXELS) throw invalid('IMAGE_LIMIT', `the image has more than ${MAX_PIXELS} pixels`, 'FAILED_PRECONDITION');
  return convertImage(bytes, { input: ['-f', 'bmp_pipe'], signal });
}

async function shrink(bytes: Uint8Array, signal: AbortSignal): Promise<Visual> {
  requireChildren();
  const request: ImageRequest = { maxPixels: MAX_PIXELS, maxBytes: MAX_ENCODED_BYTES, maxSide: MAX_SIDE };
  const json = Buffer.from(JSON.stringify(request));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  const command = buildParserCommand('image-main.ts');
  const run = await runChild({ ...command, input: [length, json, bytes], signal, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES });
  if ('ended' in run)
    throw invalid('IMAGE_TOO_COMPLEX', 'preparing the image needs more memory or time than is allowed', 'FAILED_PRECONDITION');
  const end = 4 + run.output.readUInt32BE(0);
  const header = JSON.parse(run.output.subarray(4, end).toString('utf8')) as ImageResponse;
  if ('failure' in header)
    throw invalid(REASONS[header.failure], header.message, header.failure === 'limit' ? 'FAILED_PRECONDITION' : 'INVALID_ARGUMENT');
  const { mimeType, width, height } = header;
  return { kind: 'image', bytes: new Uint8Array(run.output.subarray(end)), mimeType, width, height };
}

const REASONS = { limit: 'IMAGE_LIMIT', unsupported: 'IMAGE_TYPE_UNSUPPORTED', damaged: 'IMAGE_DAMAGED' } as const;

function describeOther(bytes: Uint8Array, mimeType: string): ServiceError {
  const head = Buffer.from(bytes.subarray(0, 1_000)).toString('utf8');
  if (/<svg[\s>]/i.test(head)) return invalid('IMAGE_TYPE_UNSUPPORTED', 'SVG is text: extract it with media.extract_document');
  const got = mimeType === 'application/octet-stream' ? 'bytes of no known format' : mimeType;
  return invalid('NOT_AN_IMAGE', `expected an image, got ${got}`);
}

function invalid(reason: string, message: string, code: 'INVALID_ARGUMENT' | 'FAILED_PRECONDITION' = 'INVALID_ARGUMENT'): ServiceError {
  return new ServiceError(code, message, { details: { reason } });
}
