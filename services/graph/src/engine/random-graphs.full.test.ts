import { test } from 'node:test';
import { playRandomGraph } from './random-graphs.fixture.ts';

const CASES = 10_000;

test('10,000 random graphs end as the reference interpreter says', () => {
  for (let seed = 0; seed < CASES; seed += 1) playRandomGraph(seed);
});
