import { parentPort, workerData } from 'node:worker_threads';
import { RE2JS } from 're2js';

// The worker thread of one search with a regular expression. Matching takes linear time, but seconds for a long pattern and text.

/** The first reply reports whether the pattern is valid. Each further one answers a text. */
export type PatternReply = { matches: boolean; failure?: undefined } | { failure: string };

function reply(message: PatternReply): void {
  parentPort?.postMessage(message, []);
}

try {
  const pattern = RE2JS.compile(String(workerData), RE2JS.CASE_INSENSITIVE);
  parentPort?.on('message', (text: string) => reply({ matches: pattern.matcher(text).find() }));
  reply({ matches: false });
} catch (error) {
  reply({ failure: error instanceof Error ? error.message : 'invalid syntax' });
}
