import { frameCosts } from './frame-costs.ts';
import { turnCosts } from './turn-costs.ts';

// Measures the cost of a frame and of a turn, for the calculations in docs/guide/scaling.md.
const seconds = Number(process.argv[2] ?? 5);
console.log(await frameCosts(seconds));
console.log(`\n${await turnCosts(seconds)}`);
