import { cruiseRepository } from './boundaries/boundaries.ts';
import { rules } from './boundaries/boundary-rules.ts';
import { listForeignSockets } from './boundaries/open-sockets.ts';

const LEAST_MODULES = 150;

const { violations, totalCruised } = await cruiseRepository();
for (const violation of violations) console.error(violation);
for (const { name, comment } of rules) {
  if (violations.some((violation) => violation.startsWith(`${name}:`))) console.error(`${name}: ${comment ?? ''}`);
}
const sockets = listForeignSockets();
for (const socket of sockets) console.error(`only-egress-goes-outside: ${socket}`);
if (sockets.length > 0) console.error('only-egress-goes-outside: Send requests through @switchyard/egress.');
if (totalCruised < LEAST_MODULES) console.error(`only ${totalCruised} modules were read; the rules may not apply`);
process.exitCode = violations.length + sockets.length > 0 || totalCruised < LEAST_MODULES ? 1 : 0;
if (process.exitCode === 0) console.log(`boundaries: ${totalCruised} modules keep ${rules.length} rules`);
