import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { hasFfmpeg } from '../conversion/ffmpeg.ts';
import { testMedia } from '../media.fixture.ts';
import { prepareImage } from './prepare-image.ts';

const TIMEOUT = { timeout: 60_000 };
const { signal } = new AbortController();

async function paint(width: number, height: number) {
  return sharp({ create: { width, height, channels: 3, background: '#336699' } });
}

test('turns an image upright and removes its position data', TIMEOUT, async () => {
  const exif = { IFD0: { Copyright: 'yard' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '59/1 54/1 0/1' } };
  const jpeg = await (await paint(60, 40)).withMetadata({ orientation: 6 }).withExifMerge(exif).jpeg().toBuffer();
  assert.ok((await sharp(jpeg).metadata()).exif !== undefined);
  const { bytes, mimeType, width, height } = await prepareImage(new Uint8Array(jpeg), signal);
  assert.deepEqual([mimeType, width, height], ['image/jpeg', 40, 60]);
  assert.equal((await sharp(bytes).metadata()).exif, undefined);
});

test('shrinks an image until its encoded form fits', TIMEOUT, async () => {
  const noise = await sharp({
    create: { width: 3_000, height: 2_500, channels: 3, background: '#fff', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })
    .png({ compressionLevel: 1 })
    .toBuffer();
  assert.ok(noise.length > 3_750_000);
  const { bytes, width = 0 } = await prepareImage(new Uint8Array(noise), signal);
  assert.ok(bytes.length <= 3_750_000 && width <= 2_048, `${bytes.length} bytes, ${width} pixels`);
});

test('converts TIFF, WebP, GIF, AVIF and BMP', TIMEOUT, async () => {
  const image = await paint(8, 8);
  const files: [string, Buffer][] = [
    ['tiff', await image.clone().tiff().toBuffer()],
    ['webp', await image.clone().webp().toBuffer()],
    ['gif', await image.clone().gif().toBuffer()],
    ['avif', await image.clone().avif().toBuffer()],
  ];
  if (hasFfmpeg()) files.push(['bmp', createBmp()]);
  for (const [name, file] of files) {
    const { mimeType, width } = await prepareImage(new Uint8Array(file), signal);
    assert.deepEqual([mimeType === 'image/jpeg' || mimeType === 'image/png', width], [true, 8], name);
  }
});

/** A bitmap of 8 x 8 pixels without compression. */
function createBmp(): Buffer {
  const file = Buffer.alloc(54 + 8 * 24, 0x80);
  file.fill(0, 0, 54);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(8, 18);
  file.writeInt32LE(8, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  return file;
}

/** The header of a PNG of this size, without pixels. */
async function createHugePng(side: number): Promise<Uint8Array<ArrayBuffer>> {
  const png = Buffer.from(await (await paint(1, 1)).png().toBuffer());
  png.writeUInt32BE(side, 16);
  png.writeUInt32BE(side, 20);
  png.writeUInt32BE(crc(png.subarray(12, 29)), 29);
  return new Uint8Array(png);
}

function crc(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}

test('names what it refuses, and decodes no image above 40 megapixels', TIMEOUT, async () => {
  const cases: [string, Uint8Array<ArrayBuffer>, RegExp][] = [
    ['IMAGE_LIMIT', await createHugePng(64_000), /more than 40000000 pixels/],
    ['NOT_AN_IMAGE', new Uint8Array(Buffer.from('words')), /expected an image, got bytes of no known format/],
    ['NOT_AN_IMAGE', new Uint8Array(0), /the image is empty/],
    ['IMAGE_TYPE_UNSUPPORTED', new Uint8Array(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), /SVG is text/],
    [
      'IMAGE_TYPE_UNSUPPORTED',
      new Uint8Array(Buffer.from('0000001866747970686569630000000068656963', 'hex')),
      /HEIC images are not supported/,
    ],
    ['IMAGE_DAMAGED', new Uint8Array((await (await paint(500, 500)).png().toBuffer()).subarray(0, 60)), /damaged/],
  ];
  for (const [reason, bytes, message] of cases) {
    await assert.rejects(prepareImage(bytes, signal), (error: Error & { details: { reason?: string } }) => {
      assert.match(error.message, message);
      assert.equal(error.details.reason, reason);
      return true;
    });
  }
});

test('image.analyze describes base64 and workspace files with the development model', TIMEOUT, async () => {
  const png = await (await paint(20, 10)).png().toBuffer();
  await using app = await testMedia({ files: { 'media/yard.png': png } });
  const inline = await app.bus.call('image.analyze', { source: png.toString('base64'), source_type: 'base64', prompt: 'How many tracks?' });
  assert.deepEqual([inline.provider, inline.model], ['dev', 'vision']);
  assert.match(inline.description, /^I am dev\/vision, .*image\/png of 20 x 10 pixels .* How many tracks\?$/);
  const file = await app.bus.call('image.analyze', { source: 'media/yard.png', source_type: 'file', prompt: 'How many tracks?' });
  assert.equal(file.description, inline.description);
  await assert.rejects(app.bus.call('image.analyze', { source: '../../etc/passwd', source_type: 'file' }), { code: 'NOT_FOUND' });
});

test('image.analyze obeys the scope rules before it reads anything', TIMEOUT, async () => {
  const scopeRules = [{ channel: 'telegram', action: 'deny' as const }];
  await using app = await testMedia({
    settings: { media: { vision: { scopeRules } } },
    as: { tenant: 'default', client: 'test', scopes: ['*'], session: 'default:test:telegram:peer:1' },
  });
  const { description } = await app.bus.call('image.analyze', { source: 'http://127.0.0.1/', source_type: 'url' });
  assert.equal(description, 'Image and video analysis is not available in this context.');
});
