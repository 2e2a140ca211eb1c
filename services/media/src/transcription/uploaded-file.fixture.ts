/** The file in the form of a request, and its type. */
export function readUploadedFile(body: Buffer): { name: string | undefined; bytes: Buffer } {
  const start = body.indexOf('filename="');
  const name = body.subarray(start + 'filename="'.length, body.indexOf('"', start + 'filename="'.length)).toString('latin1');
  const from = body.indexOf('\r\n\r\n', start) + 4;
  return { name, bytes: body.subarray(from, body.indexOf('\r\n--', from)) };
}
