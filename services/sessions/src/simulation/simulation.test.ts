import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playSeed } from './seeds.fixture.ts';
import { USUAL, type Waits } from './scenario.fixture.ts';

/** `SEED=n` replays one scenario, `SEEDS=n` sets their number. */
const ONE = process.env['SEED'];
const MANY = process.env['SEEDS'];
/** Default number of seeds, and the time limit on a busy machine. */
const USUAL_SEEDS = 2_000;
const LEAST = 100;
const USUAL_MS = 60_000;
/** Queue modes and options, with their share of the test time. */
const QUICK_SEEDS = process.env['SWITCHYARD_TEST_SUITE'] === 'quick' ? 12 : undefined;

/** Queue modes and options, with their share of the test time. */
const WAYS: readonly (Waits & { share: number })[] = [
  { ...USUAL, share: 1 },
  { ...USUAL, resets: true, share: 0.1 },
  { ...USUAL, resets: true, compacts: true, exports: true, share: 0.1 },
  { ...USUAL, resets: true, compacts: true, prepares: true, exports: true, share: 0.1 },
  { ...USUAL, resets: true, compacts: true, goesOn: true, share: 0.1 },
  { ...USUAL, resets: true, remembers: true, share: 0.1 },
  { ...USUAL, resets: true, expires: true, share: 0.1 },
  { mode: 'collect', policy: 'drop-new', compacts: true, share: 0.1 },
  { mode: 'collect', policy: 'drop-new', resets: true, share: 0.1 },
  { mode: 'collect', policy: 'drop-new', share: 0.1 },
  { mode: 'followup', policy: 'drop-old', share: 0.1 },
  { mode: 'collect', policy: 'summarize', share: 0.1 },
  { mode: 'steer', policy: 'drop-old', share: 0.1 },
  { mode: 'steer+followup', policy: 'drop-new', share: 0.1 },
  { ...USUAL, resets: true, climbsMs: 2_000, share: 0.05 },
  { mode: 'collect', policy: 'drop-new', climbsMs: 0, gathersMs: 300, share: 0.02 },
  { mode: 'followup', policy: 'drop-new', gathersMs: 1_000, share: 0.03 },
  { mode: 'steer+followup', policy: 'summarize', gathersMs: 300, resets: true, share: 0.02 },
];

for (const { share, ...waits } of WAYS) {
  test(`${waits.mode}, ${waits.policy}${waits.resets ? ', resets' : ''}${waits.compacts ? ', compacts' : ''}${waits.prepares ? ' within turns' : ''}${waits.exports ? ', exports' : ''}${waits.goesOn ? ', goes on' : ''}${waits.remembers ? ', remembers' : ''}${waits.expires ? ', expires' : ''}${waits.gathersMs ? ', gathers' : ''}${waits.climbsMs === undefined ? '' : ', lanes'}: each accepted turn ends once and is counted once, in order, with every seed`, async (t) => {
    const last = Number(ONE ?? MANY ?? QUICK_SEEDS ?? USUAL_SEEDS * share);
    const started = performance.now();
    let [played, grown, expired, exports, followed] = [0, 0, 0, 0, 0];
    for (let seed = ONE === undefined ? 1 : last; seed <= last; seed += 1) {
      if (MANY === undefined && performance.now() - started > USUAL_MS * share && played >= LEAST) break;
      try {
        const { judge, exported } = await playSeed(seed, { waits });
        exports += exported;
        grown += judge.grown();
        expired += judge.expired();
        followed += judge.followed();
      } catch (error) {
        throw new Error(`with SEED=${seed}, ${waits.mode}, ${waits.policy}`, { cause: error });
      }
      played += 1;
    }
    t.diagnostic(`${played} seeds in ${Math.round(performance.now() - started)} ms`);
    assert.ok(played > 0);
    if (waits.exports) assert.ok(exports > played / 4, `${exports} exports in ${played} stories`);
    if (waits.goesOn) assert.ok(followed > played / 4, `${followed} turns that nobody sent in ${played} stories`);
    if (waits.expires) assert.ok(expired > 0, `${expired} conversations were over in ${played} stories`);
    if (waits.compacts) assert.ok(grown >= played / (waits.prepares ? 5 : 3), `${grown} summaries in ${played} stories`);
  });
}
