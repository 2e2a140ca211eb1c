import type { Settings } from '@switchyard/service-kit';
import { channelKind, type SessionIdentity } from '../model/session-key.ts';

type Routing = Settings<'routing'>['current']['routing'];
type Binding = Routing['bindings'][number];

/** Maps channels to agents for messages that name no agent. */
export interface Bindings {
  /** Returns the agent of the most specific matching binding; among equals the first. */
  findAgentId(identity: SessionIdentity): string | undefined;
}

const cache = new WeakMap<Routing, Bindings>();

/** Undefined without bindings. Computed once per configuration. */
export function getBindings(routing: Routing): Bindings | undefined {
  if (routing.bindings.length === 0) return undefined;
  let bindings = cache.get(routing);
  if (!bindings) cache.set(routing, (bindings = buildBindings(routing)));
  return bindings;
}

function buildBindings({ bindings }: Routing): Bindings {
  // A binding without conditions is ignored; `routing.defaultAgentId` covers that case.
  const weighed = bindings.map((binding) => ({ binding, weight: getWeight(binding) })).filter(({ weight }) => weight > 0);
  const ordered = weighed.toSorted((one, other) => other.weight - one.weight).map(({ binding }) => binding);
  return { findAgentId: (identity) => ordered.find((binding) => matches(binding, identity))?.agentId };
}

/** Each part outweighs all following parts together. */
function getWeight({ peerId, channelId, guildId, channelType }: Binding): number {
  return [peerId, channelId, guildId, channelType].reduce((sum, part) => sum * 2 + (part === undefined ? 0 : 1), 0);
}

function matches({ peerId, channelId, guildId, channelType }: Binding, who: SessionIdentity): boolean {
  return (
    (peerId === undefined || peerId === who.peerId) &&
    (channelId === undefined || channelId === who.channelId) &&
    (guildId === undefined || guildId === who.guildId) &&
    (channelType === undefined || channelType === channelKind(who.channelId))
  );
}
