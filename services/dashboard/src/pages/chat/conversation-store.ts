import type { CallResult } from '@switchyard/client';
import { useSyncExternalStore } from 'react';

/** A message of the operator and the answer to it. */
export interface Exchange {
  message: string;
  answer: string;
  state: 'streaming' | 'done' | 'failed';
  /** Names the run of an answer that ended. */
  turnId?: string;
  failure?: string;
}

/** The agent and the session of a conversation as the address of the page has them; empty for those that the product chooses. */
export interface ConversationAddress {
  agentId: string;
  sessionKey: string;
}

/** The state of a conversation in this tab. */
export interface Conversation {
  /** Messages from before this tab opened the conversation, oldest first. */
  restored: CallResult<'session.history'>['messages'];
  hasOlder: boolean;
  isLoading: boolean;
  /** Why the messages were not restored. */
  failure: string | undefined;
  exchanges: readonly Exchange[];
}

const NEW: Conversation = { restored: [], hasOlder: false, isLoading: false, failure: undefined, exchanges: [] };
const conversations = new Map<string, Conversation>();
/** Addresses that got the key of their session after the first answer. */
const renamed = new Map<string, ConversationAddress>();
const listeners = new Set<() => void>();
let latest: ConversationAddress = { agentId: '', sessionKey: '' };
let version = 0;

const formatAddress = ({ agentId, sessionKey }: ConversationAddress): string => JSON.stringify([agentId, sessionKey]);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The conversations of this tab survive leaving the page. Returns a number that changes with each of them. */
export const useConversations = (): number => useSyncExternalStore(subscribe, () => version);

/** Returns the conversation that a page with this address shows. A page without an address continues the latest conversation. */
export function resolveAddress({ agentId, sessionKey }: ConversationAddress): ConversationAddress {
  return follow(agentId === '' && sessionKey === '' ? latest : { agentId, sessionKey });
}

/** Returns the newest address of a conversation. */
export function follow(address: ConversationAddress): ConversationAddress {
  return renamed.get(formatAddress(address)) ?? address;
}

export function setLatest(address: ConversationAddress): void {
  latest = address;
}

export function getConversation(address: ConversationAddress): Conversation | undefined {
  return conversations.get(formatAddress(follow(address)));
}

export function changeConversation(address: ConversationAddress, update: Partial<Conversation>): void {
  const key = formatAddress(follow(address));
  conversations.set(key, { ...(conversations.get(key) ?? NEW), ...update });
  notify();
}

/** Moves a conversation to the address that has the key of its session. */
export function renameConversation(from: ConversationAddress, to: ConversationAddress): void {
  const conversation = conversations.get(formatAddress(from));
  if (conversation === undefined) return;
  conversations.delete(formatAddress(from));
  conversations.set(formatAddress(to), conversation);
  renamed.set(formatAddress(from), to);
  if (formatAddress(latest) === formatAddress(from)) latest = to;
  notify();
}

function notify(): void {
  version += 1;
  for (const listener of listeners) listener();
}
