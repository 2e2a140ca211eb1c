import { frameCosts } from './frame-costs.ts';
import { turnCosts } from './turn-costs.ts';

// What one frame and one turn cost, for the arithmetic of docs/guide/scaling.md.
const seconds = Number(process.argv[2] ?? 5);
console.log(await frameCosts(seconds));
console.log(`\n${await turnCosts(seconds)}`);
