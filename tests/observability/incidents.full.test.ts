import { test } from 'node:test';
import { FLEET_INCIDENTS } from './incidents/fleet-incidents.ts';
import { assertVerdict } from './incidents/incident.ts';
import { PRODUCT_INCIDENTS } from './incidents/product-incidents.ts';
import { PROVIDER_INCIDENTS } from './incidents/provider-incidents.ts';
import { TURN_INCIDENTS } from './incidents/turn-incidents.ts';

// Each verdict comes from turns that really failed so.

for (const incident of [...PROVIDER_INCIDENTS, ...TURN_INCIDENTS, ...PRODUCT_INCIDENTS])
  test(`obs.explain: ${incident.name}: ${incident.verdict}`, { timeout: 120_000 }, async () => {
    assertVerdict(incident, await incident.stage());
  });

for (const incident of FLEET_INCIDENTS)
  test(`obs.fleet.health: ${incident.name}: ${incident.verdict ?? 'findings only'}`, { timeout: 120_000 }, async () => {
    assertVerdict(incident, await incident.stage());
  });
