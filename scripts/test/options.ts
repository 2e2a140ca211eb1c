/** `quick` is `make test`; `full` is `make test-full`; `docker` needs Docker and its images. */
export type Suite = 'quick' | 'full' | 'docker';

export interface RunOptions {
  suite: Suite;
  /** Patterns of test files; all files of the suite when empty. */
  patterns: readonly string[];
  /** Runs one of `count` parts of the files. */
  shard?: { index: number; count: number };
  /** Leaves out the files that `make test` runs in the same way. */
  withoutQuick?: boolean;
}

const SUITES: readonly Suite[] = ['quick', 'full', 'docker'];

/** Reads `[quick|full|docker] [--shard=1/4] [pattern…]`. Throws an error that names the wrong argument. */
export function parseOptions(args: readonly string[]): RunOptions {
  let suite: Suite = 'quick';
  let shard: RunOptions['shard'];
  const patterns: string[] = [];
  let withoutQuick = false;
  for (const argument of args.filter((text) => text !== '')) {
    if (SUITES.includes(argument as Suite)) suite = argument as Suite;
    else if (argument.startsWith('--shard=')) shard = parseShard(argument.slice('--shard='.length));
    else if (argument === '--without-quick') withoutQuick = true;
    else if (argument.startsWith('-')) throw new Error(`Unknown option ${argument}`);
    else patterns.push(argument);
  }
  return { suite, patterns, ...(shard === undefined ? {} : { shard }), ...(withoutQuick ? { withoutQuick } : {}) };
}

function parseShard(text: string): RunOptions['shard'] {
  if (text === '') return undefined;
  const [, index = 0, count = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (index < 1 || index > count) throw new Error(`SHARD must be like 1/4, not ${text}`);
  return { index, count };
}
