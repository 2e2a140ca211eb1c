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
  /** Services that did not answer in two readings, with the time of the first one in epoch milliseconds. */
  unanswered: Readonly<Record<string, number>>;
}

const STABLE_MS = 60_000;
/** Time until a service that did not answer is checked again. */
const CONFIRMATION_MS = 1_000;
/** Time between two checks whether a service answers again. */
const RECOVERY_MS = 5_000;

/** When this page first saw that a service does not answer, by service, in epoch milliseconds. */
const downSince = new Map<string, number>();

/** Reads the readiness. A gateway that is busy may miss an answer, so that one reading alone does not count. */
async function readReadiness(signal: AbortSignal): Promise<Readiness> {
  const readiness = await read<Omit<Readiness, 'unanswered'>>('/readyz', signal);
  const unanswered: Record<string, number> = {};
  for (const { service, state } of readiness.services ?? []) {
    const since = downSince.get(service);
    if (state !== 'down') downSince.delete(service);
    else if (since === undefined) downSince.set(service, Date.now());
    else unanswered[service] = since;
  }
  return { ...readiness, unanswered };
}

export function useReadiness() {
  return useQuery({
    queryKey: ['readiness'],
    queryFn: ({ signal }) => readReadiness(signal),
    staleTime: 5_000,
    // A service that does not answer emits no event when it is back.
    refetchInterval: ({ state: { data, error } }) => {
      if (getToken() === undefined) return false;
      const down = data?.services?.filter(({ state }) => state === 'down') ?? [];
      if (down.some(({ service }) => data?.unanswered[service] === undefined)) return CONFIRMATION_MS;
      return error !== null || down.length > 0 ? RECOVERY_MS : false;
    },
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
  | { kind: 'not answering'; service: string; since: number };

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
    const since = readiness?.unanswered[service];
    if (since !== undefined) return { kind: 'not answering', service, since };
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
