import { execFileSync } from 'node:child_process';
import { chooseShards, SHARD_COUNT } from './choose-shards.ts';

// Prints the shards of make test-full that CI runs for the commit that is checked out: `2/4`, or all of them, one per line.

/** Changes since the previous landing count. It is not recorded, so the last commit that is this much older than HEAD stands for it. */
const LANDING_SECONDS = 3 * 3_600;

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 28 }).trim();

const head = git('rev-parse', 'HEAD');
const before = Number(git('log', '-1', '--format=%ct')) - LANDING_SECONDS;
const base = git('rev-list', '-1', `--before=${before}`, 'HEAD') || (git('rev-list', '--max-parents=0', 'HEAD').split('\n').at(-1) ?? head);
const changed = git('diff', '--name-only', base, 'HEAD').split('\n').filter(Boolean);
for (const shard of chooseShards(head, changed)) console.log(`${shard}/${SHARD_COUNT}`);
