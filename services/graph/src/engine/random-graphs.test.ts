import { test } from 'node:test';
import { playRandomGraph } from './random-graphs.fixture.ts';

const CASES = 300;

test('random graphs end as the reference interpreter says', () => {
  for (let seed = 0; seed < CASES; seed += 1) playRandomGraph(seed);
});
