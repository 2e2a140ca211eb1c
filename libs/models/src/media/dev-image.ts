import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import { modelNotFound } from '../errors/provider-errors.ts';
import type { ImageAnswer, ImageRequest } from './media-models.ts';

export const DEV_PAINTER = 'image';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const BANDS = 8;
const RGB = 2;

/** Paints horizontal bands in colours of the prompt, as a PNG file of the requested size. The same prompt gives the same bytes. */
export function generateForDevelopment({ model, prompt, width, height }: ImageRequest): ImageAnswer {
  if (model.modelId !== DEV_PAINTER) throw modelNotFound(`the development provider has no image model ${model.modelId}`);
  const colours = createHash('sha256').update(prompt).digest();
  const row = 1 + width * 3; // a filter byte before each row
  const pixels = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    const band = Math.floor((y * BANDS) / height) * 3;
    pixels.fill(colours.subarray(band, band + 3), y * row + 1, (y + 1) * row);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, RGB], 8);
  const file = [Buffer.from(SIGNATURE), chunk('IHDR', header), chunk('IDAT', deflateSync(pixels)), chunk('IEND', Buffer.alloc(0))];
  return { image: new Uint8Array(Buffer.concat(file)) };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
