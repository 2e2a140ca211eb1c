import type { Principal } from '@switchyard/contracts';
import { sessionNotFound } from './session-ownership.ts';
import type { SessionDocument } from './session-document.ts';

/** Complete identity of a session. The tenant is always the caller's and never taken from a request. */
export interface SessionIdentity {
  tenant: string;
  userId: string;
  channelId: string;
  peerId?: string;
  guildId?: string;
  threadId?: string;
  agentId?: string;
}

const LABELS = ['peer', 'guild', 'thread'] as const;
const LABELLED = { peer: 'peerId', guild: 'guildId', thread: 'threadId' } as const;

/** `[agent:<id>:]<tenant>:<user>:<channel>[:peer:<p>][:guild:<g>][:thread:<t>]`. Two identities never share a key. */
export function formatSessionKey(identity: SessionIdentity): string {
  const parts = [identity.tenant, encode(identity.userId), encodeChannel(identity.channelId)];
  if (identity.agentId !== undefined) parts.unshift('agent', identity.agentId);
  for (const label of LABELS) {
    const value = identity[LABELLED[label]];
    if (value !== undefined) parts.push(label, encode(value));
  }
  return parts.join(':');
}

/** Parses a session key; undefined for text of another shape. */
export function parseSessionKey(text: string): SessionIdentity | undefined {
  const segments = text.split(':');
  const agentId = segments[0] === 'agent' && segments.length >= 5 ? segments[1] : undefined;
  const rest = agentId === undefined ? segments : segments.slice(2);
  const [tenant, user, ...tail] = rest;
  if (!tenant || !user || tail.length === 0 || tail.some((segment) => segment === '')) return undefined;
  const labelsFrom = tail.findIndex((segment, at) => at > 0 && isLabel(segment));
  const channel = labelsFrom === -1 ? tail : tail.slice(0, labelsFrom);
  const identity: SessionIdentity = { tenant, userId: decode(user), channelId: decode(channel.join(':')) };
  if (agentId !== undefined) identity.agentId = agentId;
  return labelsFrom === -1 ? identity : withLabels(identity, tail.slice(labelsFrom));
}

function withLabels(identity: SessionIdentity, pairs: readonly string[]): SessionIdentity | undefined {
  for (let at = 0; at < pairs.length; at += 2) {
    const [label, value] = [pairs[at], pairs[at + 1]];
    if (label === undefined || value === undefined || !isLabel(label)) return undefined;
    identity[LABELLED[label]] = decode(value);
  }
  return identity;
}

function isLabel(segment: string): segment is (typeof LABELS)[number] {
  return (LABELS as readonly string[]).includes(segment);
}

function encode(value: string): string {
  return value.toWellFormed().replace(/[%:]/g, (character) => (character === ':' ? '%3A' : '%25'));
}

/** Channels may contain colons unless a segment would be read as a label. */
function encodeChannel(value: string): string {
  const plain = value.toWellFormed().replaceAll('%', '%25');
  const segments = plain.split(':');
  return segments.some((segment) => segment === '' || isLabel(segment)) ? encode(value) : plain;
}

function decode(value: string): string {
  return value.replace(/%(3A|25)/g, (_, code: string) => (code === '3A' ? ':' : '%'));
}

/** Ways to address a session: its key, a plain channel id, or its parts. */
export type SessionAddress = string | SessionParts | undefined;

type SessionParts = { [P in Exclude<keyof SessionIdentity, 'tenant'> | 'tenantId']?: string | undefined };

/**
 * Resolves the session that a caller addresses. Missing parts default to the caller: the user is its client id, the channel `gateway`.
 * Throws NOT_FOUND for a session of another tenant, so that keys cannot be probed.
 */
export function resolveSession(address: SessionAddress, principal: Principal, agentId: string | undefined): SessionIdentity {
  const named = typeof address === 'string' ? (parseSessionKey(address) ?? { channelId: address }) : fromParts(address ?? {});
  const tenant = 'tenant' in named ? named.tenant : undefined;
  if (tenant !== undefined && tenant !== principal.tenant) throw sessionNotFound();
  const agent = named.agentId ?? agentId;
  return {
    ...named,
    tenant: principal.tenant,
    userId: named.userId ?? principal.client,
    channelId: named.channelId ?? 'gateway',
    ...(agent === undefined ? {} : { agentId: agent }),
  };
}

/** Returns the key of the session that a caller addresses. */
export function resolveSessionKey(address: string, principal: Principal): string {
  return formatSessionKey(resolveSession(address, principal, undefined));
}

type PartialIdentity = Partial<SessionIdentity>;

function fromParts({ tenantId, ...parts }: SessionParts): PartialIdentity {
  const options = Object.entries({ ...parts, tenant: tenantId }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(options);
}

/** Returns the channel of a session key. */
export function getChannel(sessionKey: string): string {
  return parseSessionKey(sessionKey)?.channelId ?? sessionKey;
}

/** Returns the channel type: `telegram` for `telegram:42`. */
export function channelKind(channelId: string): string {
  return channelId.split(':', 1)[0] ?? channelId;
}

/** Kind of conversation as settings name it: direct, group, or a thread of either. */
export type ChatKind = 'dm' | 'group' | 'thread';

export function getChatKind({ key, kind }: Pick<SessionDocument, 'key' | 'kind'>): ChatKind {
  if (parseSessionKey(key)?.threadId !== undefined) return 'thread';
  return kind === 'group' ? 'group' : 'dm';
}
