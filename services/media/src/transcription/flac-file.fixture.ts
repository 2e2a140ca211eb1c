/** The beginning of a FLAC file with this number of samples. */
export function createFlac(samples: number, rate: number): Buffer {
  const file = Buffer.alloc(42);
  file.write('fLaC');
  file.writeUInt8(0x80, 4);
  file.writeUIntBE(34, 5, 3);
  file.writeUIntBE(rate << 4, 18, 3);
  file.writeUInt8(0xf0 | Math.floor(samples / 2 ** 32), 21);
  file.writeUInt32BE(samples % 2 ** 32, 22);
  return file;
}
