import { cruiseRepository } from './boundaries/boundaries.ts';
import { rules } from './boundaries/boundary-rules.ts';

const LEAST_MODULES = 150;

const { violations, totalCruised } = await cruiseRepository();
for (const violation of violations) console.error(violation);
for (const { name, comment } of rules) {
  if (violations.some((violation) => violation.startsWith(`${name}:`))) console.error(`${name}: ${comment ?? ''}`);
}
if (totalCruised < LEAST_MODULES) console.error(`only ${totalCruised} modules were read; the rules may not apply`);
process.exitCode = violations.length > 0 || totalCruised < LEAST_MODULES ? 1 : 0;
if (process.exitCode === 0) console.log(`boundaries: ${totalCruised} modules keep ${rules.length} rules`);
