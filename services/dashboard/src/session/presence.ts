import type { MethodName, OpenRpcDocument, ServicePresence } from '@switchyard/contracts';
import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { getToken, onTokenChange } from './browser-token.ts';
import { read } from './client.ts';

/** `/readyz` for a token with scope admin. */
export interface Readiness {
  ready: boolean;
  status: string;
  services?: ServicePresence[];
}

const STABLE_MS = 60_000;
/** Time between two checks whether a service answers again. */
const RECOVERY_MS = 5_000;

/** When this page first saw that a service does not answer, by service, in epoch milliseconds. */
const unansweredSince = new Map<string, number>();

async function readReadiness(signal: AbortSignal): Promise<Readiness> {
  const readiness = await read<Readiness>('/readyz', signal);
  for (const { service, state } of readiness.services ?? []) {
    if (state !== 'down') unansweredSince.delete(service);
    else if (!unansweredSince.has(service)) unansweredSince.set(service, Date.now());
  }
  return readiness;
}

export function useReadiness() {
  return useQuery({
    queryKey: ['readiness'],
    queryFn: ({ signal }) => readReadiness(signal),
    staleTime: 5_000,
    // A service that does not answer emits no event when it is back.
    refetchInterval: ({ state: { data, error } }) =>
      getToken() !== undefined && (error !== null || data?.services?.some(({ state }) => state === 'down')) ? RECOVERY_MS : false,
  });
}

/** The methods of this version, with their service and schema. They change with a rollout only. */
export function useMethods() {
  return useQuery({
    queryKey: ['methods'],
    queryFn: ({ signal }) => read<OpenRpcDocument>('/openrpc.json', signal),
    staleTime: STABLE_MS,
  });
}

/** Why a method cannot be called now. */
export type Absence =
  | { kind: 'not in this version'; method: MethodName }
  | { kind: 'forbidden'; method: MethodName; scope: string }
  | { kind: 'not installed'; service: string }
  /** `since` is when this page first saw it, in epoch milliseconds. */
  | { kind: 'not answering'; service: string; since: number | undefined };

/** Returns the first reason why one of the methods cannot be called. While the documents load there is none. */
export function useAbsence(needs: readonly MethodName[]): Absence | undefined {
  const { data: document } = useMethods();
  const { data: readiness } = useReadiness();
  const token = useSyncExternalStore(onTokenChange, getToken);
  if (document === undefined) return undefined;
  const services = new Map(readiness?.services?.map(({ service, state }) => [service, state]));
  for (const name of needs) {
    const method = document.methods.find((one) => one.name === name);
    if (!method?.['x-served']) return { kind: 'not in this version', method: name };
    const scope = method['x-scope'];
    if (token !== undefined && !hasScope(token.scopes, scope)) return { kind: 'forbidden', method: name, scope };
    const service = method['x-service'];
    const state = services.get(service);
    if (state === 'unbuilt') return { kind: 'not in this version', method: name };
    if (state === 'absent') return { kind: 'not installed', service };
    if (state === 'down') return { kind: 'not answering', service, since: unansweredSince.get(service) };
  }
  return undefined;
}

/** Returns whether the token may call the method and this version serves it. Actions that it may not call are not shown. */
export function useMay(name: MethodName | undefined): boolean {
  const absence = useAbsence(name === undefined ? [] : [name]);
  return absence === undefined || absence.kind === 'not answering';
}

/** The scope `*` contains every other one. Methods with the scope `none` need a token alone. */
export function hasScope(held: readonly string[], required: string): boolean {
  return required === 'none' || held.includes('*') || held.includes(required);
}
