import { buffer } from 'node:stream/consumers';
import { parseDocument } from './parse-document.ts';
import { decodeMessage, DocumentRefusal, type ParseResponse } from './protocol/protocol.ts';

// The process parses one document from its input and writes one response. Libraries must not write to the output.
const ignore = (): void => undefined;
Object.assign(console, { log: ignore, info: ignore, warn: ignore });
const { request, bytes } = decodeMessage(await buffer(process.stdin));
const response: ParseResponse = await parseDocument(bytes, request).then(
  (document) => ({ document }),
  (error: unknown) => ({ refusal: describeFailure(error) }),
);
process.stdout.write(JSON.stringify(response), () => process.exit(0));

/** A library reports damage as an ordinary error, often with an internal text. The client learns its first line. */
function describeFailure(error: unknown): { kind: DocumentRefusal['kind']; message: string } {
  if (error instanceof DocumentRefusal) return { kind: error.kind, message: error.message };
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return { kind: 'damaged', message: `the document is damaged: ${line.slice(0, 200)}` };
}
