export { openAgent, type AgentOptions } from './agent.ts';
export type { AddressChecks, Reach } from './connector.ts';
export { createEgress, type Egress, type EgressOptions, type EgressRequest, type EgressResponse } from './egress.ts';
