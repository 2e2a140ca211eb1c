import { join } from 'node:path';
import { Configuration } from '@switchyard/contracts';
import { runChild } from '../../services/media/src/processes/child-run.ts';
import { createDocumentParser } from '../../services/media/src/processes/parser-process.ts';
import { buildParserCommand, detectIsolation } from '../../services/media/src/processes/sandbox.ts';
import { quantile } from '../statistics.ts';
import { DOCUMENTS } from '../../services/media/src/bench/sample-documents.fixture.ts';

/**
 * Time to read a document beside the bare library in a child of the same kind: the same sandbox and limits, a process for each document.
 * The target is at most 1.5x and 60 ms.
 */
const ROUNDS = 15;
const MAX_RATIO = 1.5;
const MAX_ADDED_MS = 60;
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const { signal } = new AbortController();
const { allowedMimes: allowedTypes, maxChars } = Configuration.parse({}).media.documentExtraction;
const parser = createDocumentParser({ warn: (fields, message) => console.error(message, fields) });

console.log(`isolation: ${detectIsolation()}`);
for (const [format, create] of Object.entries(DOCUMENTS)) {
  const bytes = create();
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    // Each goes first in every second round; the first round warms up.
    const order = round % 2 === 0 ? ([readBare, readOurs] as const) : ([readOurs, readBare] as const);
    for (const read of order) {
      const startedAt = performance.now();
      await read(format, bytes);
      if (round >= 0) (read === readOurs ? ours : bare).push(performance.now() - startedAt);
    }
  }
  const [product, library] = [quantile(ours, 0.5), quantile(bare, 0.5)];
  const target = library * MAX_RATIO + MAX_ADDED_MS;
  const sizes = `${(bytes.length / 1_024).toFixed(0)} KiB`;
  const verdict = product <= target ? 'within' : 'ABOVE';
  console.log(
    `${format} (${sizes}): ${product.toFixed(0)} ms, bare ${library.toFixed(0)} ms, ${(product / library).toFixed(2)}x, ${verdict} ${target.toFixed(0)} ms`,
  );
}

async function readOurs(_: string, bytes: Buffer): Promise<void> {
  const limits = { maxChars, maxPages: 1_000, allowedTypes };
  const { text } = await parser.parse(bytes, { tenant: 'bench', signal, timeoutMs: TIMEOUT_MS, mode: 'document', ...limits });
  if (text === '') throw new Error('the document has no text');
}

async function readBare(format: string, bytes: Buffer): Promise<void> {
  const main = join(import.meta.dirname, '../../services/media/src/bench/bare-parser-main.ts');
  const { command, args } = buildParserCommand('parser-main.ts');
  const bareArgs = [...args.slice(0, -1), main, format].flatMap((arg) =>
    arg === '--permission' ? [arg, `--allow-fs-read=${main}`] : [arg],
  );
  const run = await runChild({ command, args: bareArgs, input: [bytes], signal, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES });
  if (!('output' in run) || run.output.length === 0) throw new Error(`the library failed: ${'stderr' in run ? run.stderr : 'no text'}`);
}
