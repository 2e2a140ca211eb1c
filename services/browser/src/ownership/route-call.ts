import { ServiceError, type MethodName } from '@switchyard/contracts';
import type { Bus, Ctx } from '@switchyard/bus';
import { pause, systemClock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { newWork } from '@switchyard/work';
import { getBrowserKey, type BrowserDocument, type BrowserKey } from './browser-document.ts';
import type { RunningBrowsers } from './browser-work.ts';
import type { OwnedBrowser } from './owned-browser.ts';
import { NO_PLACE, toError } from './start-failure.ts';

/** How long a call waits for a browser: a start, or a takeover from a killed replica. */
const OWNER_TIMEOUT_MS = 20_000;
const OWNER_POLL_INTERVAL_MS = 100;
/** How long a start may wait for a place among the browsers of all replicas. */
const CAPACITY_TIMEOUT_MS = 4_000;

/** How long other replicas may take a browser before this one closes another for it. */
const OTHER_REPLICAS_MS = 500;

export type BrowserMethod = Extract<MethodName, `browser.${string}`>;

/** Runs a method on the browser of this replica. */
export type RunMethod = (
  owned: OwnedBrowser,
  key: BrowserKey,
  call: { method: BrowserMethod; params: unknown; ctx: Ctx },
) => Promise<unknown>;

export interface RouteDeps {
  browsers: Collection<BrowserDocument>;
  running: RunningBrowsers;
  bus: Bus;
  replica: string;
  now: () => number;
  run: RunMethod;
  /** Closes an idle browser if this replica has no place for another one. Returns whether it closed one. */
  makeRoom: () => Promise<boolean>;
}

/** The methods that start a browser. */
const STARTS: ReadonlySet<BrowserMethod> = new Set(['browser.start', 'browser.navigate', 'browser.open']);

/** Finds the replica with the caller's browser and runs the method there. Undefined if no browser runs and the method starts none. */
export async function routeCall(deps: RouteDeps, call: { method: BrowserMethod; params: unknown; ctx: Ctx }): Promise<unknown> {
  const { browsers, running, replica } = deps;
  const { ctx, method } = call;
  const key = getBrowserKey(ctx.principal);
  const documents = browsers.for({ tenant: key.tenant });
  const begun = performance.now();
  let isRequested = false;
  for (;;) {
    const owned = running.find(key);
    if (owned) return deps.run(owned, key, call);
    const document = await documents.get(key.browserId);
    if (!document?.wanted) {
      if (isRequested) throw toError(document?.failure ?? null);
      if (!STARTS.has(method)) return undefined;
      await requestBrowser(deps, key, document);
      isRequested = true;
    } else {
      const owner = document.state === 'running' && document.owner !== replica ? document.owner : null;
      const reply = owner === null ? undefined : await forward(deps.bus.as(ctx.principal), owner, call);
      if (typeof reply === 'object') return JSON.parse(reply.result) as unknown;
      if (!running.getStart(key)) {
        // Takes the browser over once the lease of a killed owner has ended, also of an earlier process with the name of this replica.
        if (reply === 'gone' || (document.state === 'running' && document.owner === replica)) running.prepareTakeover();
        await running.work.poll();
      }
    }
    await running.getStart(key);
    if (running.find(key)) continue;
    const waitedMs = performance.now() - begun;
    if (document?.state === 'queued' && waitedMs > OTHER_REPLICAS_MS && (await deps.makeRoom())) {
      await running.work.poll();
      continue;
    }
    if (document?.state === 'queued' && waitedMs > CAPACITY_TIMEOUT_MS)
      throw document.failure ? toError(document.failure) : await giveUp(documents, key);
    if (waitedMs > OWNER_TIMEOUT_MS) throw new ServiceError('UNAVAILABLE', 'No replica took the browser over in time. Repeat the call.');
    ctx.signal.throwIfAborted();
    await pause(systemClock, OWNER_POLL_INTERVAL_MS);
  }
}

async function requestBrowser(
  { running, now }: RouteDeps,
  { tenant, browserId }: BrowserKey,
  known: BrowserDocument | null,
): Promise<void> {
  const wanted = { wanted: true, sessions: [], failure: null, usedAt: now() };
  if (known) await running.work.wake(tenant, browserId, { set: wanted });
  else await running.work.add({ tenant }, { ...newWork(), browserId, nextTab: 1, nextRef: 1, ...wanted });
  await running.work.poll();
}

/** Withdraws the request of a browser that no replica has a place for. Other calls that wait for it find the same reason. */
async function giveUp(documents: ReturnType<Collection<BrowserDocument>['for']>, { browserId }: BrowserKey): Promise<ServiceError> {
  await documents.update({ browserId, state: 'queued' }, { set: { wanted: false, failure: NO_PLACE } });
  return toError(NO_PLACE);
}

/** Returns 'gone' if the owner does not exist any more; undefined if it does not have the browser. The method has not run then. */
async function forward(
  bus: { call: Bus['call'] },
  replica: string,
  { method, params, ctx }: { method: BrowserMethod; params: unknown; ctx: Ctx },
): Promise<{ result: string } | 'gone' | undefined> {
  try {
    const timeoutMs = Math.max(ctx.deadline - Date.now(), 1);
    return await bus.call('browser.use', { method, params: JSON.stringify(params) }, { replica, signal: ctx.signal, timeoutMs });
  } catch (error) {
    if (error instanceof ServiceError && error.details.reason === 'NO_RESPONDERS') return 'gone';
    if (error instanceof ServiceError && error.details.reason === 'NOT_OWNER') return undefined;
    throw error;
  }
}

export function notOwner(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'This replica does not have the browser.', { details: { reason: 'NOT_OWNER' } });
}
