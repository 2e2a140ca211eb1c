import { buffer } from 'node:stream/consumers';
import sharp, { type Sharp } from 'sharp';
import type { ImageRequest, ImageResponse } from './protocol/image-protocol.ts';

// The process prepares one image from its input and writes one response: a header in JSON, and the bytes.
const QUALITIES = [85, 70, 55, 40];
const SCALES = [1, 0.75, 0.5, 0.35, 0.25];

sharp.concurrency(1);
sharp.cache(false);
const message = await buffer(process.stdin);
const end = 4 + message.readUInt32BE(0);
const request = JSON.parse(message.subarray(4, end).toString('utf8')) as ImageRequest;
const { header, image } = await prepare(message.subarray(end)).catch((error: unknown) => ({
  header: describeFailure(error),
  image: Buffer.alloc(0),
}));
const json = Buffer.from(JSON.stringify(header));
const length = Buffer.alloc(4);
length.writeUInt32BE(json.length);
process.stdout.write(Buffer.concat([length, json, image]), () => process.exit(0));

/** Turns an image upright, removes its metadata, and shrinks it until its encoded form fits. */
async function prepare(bytes: Buffer): Promise<{ header: ImageResponse; image: Buffer }> {
  const { maxPixels, maxBytes, maxSide } = request;
  const source = (): Sharp => sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', sequentialRead: true }).rotate();
  const { format, hasAlpha, width: fullWidth, height: fullHeight } = await sharp(bytes, { limitInputPixels: maxPixels }).metadata();
  const keepsPng = format === 'png' || format === 'gif' || hasAlpha;
  for (const scale of SCALES) {
    const side = Math.max(1, Math.round(Math.min(maxSide, Math.max(fullWidth, fullHeight)) * scale));
    const resized = (): Sharp => source().resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true });
    const attempts = [
      ...(keepsPng ? [() => resized().png({ compressionLevel: 9 })] : []),
      ...QUALITIES.map((quality) => () => resized().flatten({ background: '#ffffff' }).jpeg({ quality })),
    ];
    for (const [at, attempt] of attempts.entries()) {
      const { data, info } = await attempt().toBuffer({ resolveWithObject: true });
      if (data.length > maxBytes) continue;
      const mimeType = keepsPng && at === 0 ? 'image/png' : 'image/jpeg';
      return { header: { mimeType, width: info.width, height: info.height }, image: data };
    }
  }
  return { header: { failure: 'limit', message: `the image does not fit ${maxBytes} bytes` }, image: Buffer.alloc(0) };
}

function describeFailure(error: unknown): ImageResponse {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  if (/pixel limit|exceeds/i.test(line)) return { failure: 'limit', message: `the image has more than ${request.maxPixels} pixels` };
  if (/unsupported image format|heif|security limits/i.test(line))
    return { failure: 'unsupported', message: `the image format is not supported: ${line.slice(0, 200)}` };
  return { failure: 'damaged', message: `the image is damaged: ${line.slice(0, 200)}` };
}
