export { checkUrl } from './check-url.ts';
export { openAgent, type AgentOptions } from './agent.ts';
export type { AddressChecks, Reach } from './connector.ts';
export { createEgress, type Egress, type EgressOptions, type EgressRequest, type EgressResponse, type EgressSettings } from './egress.ts';
export { startForwardProxy, type ForwardProxy, type ForwardProxyOptions } from './forward-proxy.ts';
