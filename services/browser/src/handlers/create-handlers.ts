import type { Ctx, Handler, Handlers } from '@switchyard/bus';
import { browser as contract, hasScope, parseParams, ServiceError, type Params, type Principal, type Result } from '@switchyard/contracts';
import type { OwnedBrowser } from '../ownership/owned-browser.ts';
import { getBrowserKey, type BrowserKey } from '../ownership/browser-document.ts';
import { notOwner, routeCall, type BrowserMethod, type RouteDeps } from '../ownership/route-call.ts';
import { convertDriverFailure } from '../sessions/deadline.ts';
import type { BrowserSession } from '../sessions/browser-session.ts';
import { createSecretReader } from '@switchyard/service-kit';
import type { ActOptions } from '../pages/act.ts';
import type { Methods } from './browser-methods.ts';

export interface HandlerOptions extends Omit<RouteDeps, 'run'> {
  methods: Methods;
  isEnabled: () => boolean;
  /** Returns the tenant of the installation, to which all secrets belong. */
  getTenantId: () => string;
  /** Checks the address of a call before a browser is started for it. */
  checkAddress: (url: string) => void;
}

/** The methods that need no session. */
const OPENS_SESSION: ReadonlySet<BrowserMethod> = new Set(['browser.start', 'browser.navigate', 'browser.open']);
/** The methods that change nothing that another replica needs to go on. */
const READS: ReadonlySet<BrowserMethod> = new Set(['browser.status', 'browser.screenshot', 'browser.pdf', 'browser.console']);

/**
 * Throws unless the caller may type a secret: administrators of the installation's tenant may, and its agents, for which the secrets service
 * reads `agents.<id>.secrets.allow`.
 */
function requireSecretRights({ tenant, agent, scopes }: Principal, tenantId: string): void {
  if (tenant === tenantId && (agent !== undefined || hasScope(scopes, 'admin'))) return;
  throw new ServiceError('PERMISSION_DENIED', 'only agents and administrators of the installation tenant may type its secrets', {
    details: { reason: 'SECRET_NOT_ALLOWED' },
  });
}

/** Returns a handler for each method, which finds the caller's browser, and the operation that other replicas call. */
export function createHandlers({ methods, isEnabled, checkAddress, getTenantId, ...routing }: HandlerOptions): Handlers<typeof contract> {
  async function run(owned: OwnedBrowser, key: BrowserKey, call: { method: BrowserMethod; params: unknown; ctx: Ctx }): Promise<unknown> {
    try {
      return await runInSession(owned, key, call);
    } catch (error) {
      throw convertDriverFailure(error);
    }
  }

  async function runInSession(
    owned: OwnedBrowser,
    key: BrowserKey,
    { method, params, ctx }: { method: BrowserMethod; params: unknown; ctx: Ctx },
  ): Promise<unknown> {
    const session = OPENS_SESSION.has(method) ? await owned.live.open(key.session) : owned.live.find(key.session);
    if (!session) return undefined;
    const readSecret = createSecretReader(routing.bus.as(ctx.principal), 'browser');
    const resolveSecret = async (name: string, origin: string): Promise<string | null> => {
      requireSecretRights(ctx.principal, getTenantId());
      return readSecret(name, origin, 'browser');
    };
    const result = session.secrets.mask(await session.run(() => runMethod(method, { params, session, owned, key, resolveSecret })));
    if (READS.has(method) || method === 'browser.stop') return result;
    await owned.save().catch(() => undefined);
    // Not awaited: a page may take its time to answer, and the caller does not wait for it.
    if (method !== 'browser.snapshot') void owned.saveStorage().catch(() => undefined);
    return result;
  }

  function runMethod(
    method: BrowserMethod,
    call: { params: unknown; session: BrowserSession; owned: OwnedBrowser; key: BrowserKey; resolveSecret: ActOptions['resolveSecret'] },
  ): Promise<unknown> {
    const perform = methods[method] as (call: unknown) => Promise<unknown>;
    return perform(call);
  }

  const deps: RouteDeps = { ...routing, run };

  function handle<N extends BrowserMethod>(method: N): Handler<N> {
    const handler = async (params: Params<N>, ctx: Ctx): Promise<Result<N>> => {
      const isOff = !isEnabled();
      if (isOff && method !== 'browser.status' && method !== 'browser.stop') throw disabled();
      const { url } = params as { url?: unknown };
      if (typeof url === 'string') checkAddress(url);
      const result = isOff ? undefined : await routeCall(deps, { method, params, ctx });
      return (result ?? answerWithoutBrowser(method)) as Result<N>;
    };
    return handler as unknown as Handler<N>;
  }

  const names = Object.keys(methods) as BrowserMethod[];
  return {
    ...(Object.fromEntries(names.map((name) => [name, handle(name)])) as Handlers<typeof contract>),
    async 'browser.use'({ method, params }, ctx) {
      const name = names.find((known) => known === method);
      if (name === undefined) throw new ServiceError('INVALID_ARGUMENT', `method: ${method} is no method of the browser.`);
      const key = getBrowserKey(ctx.principal);
      const owned = routing.running.find(key);
      if (!owned) throw notOwner();
      const parsed = parseParams(contract.methods[name].params, JSON.parse(params));
      const result = (await run(owned, key, { method: name, params: parsed, ctx })) ?? answerWithoutBrowser(name);
      return { result: JSON.stringify(result) };
    },
  };
}

/** Returns the answer of a method while the caller has not started a browser. */
function answerWithoutBrowser(method: BrowserMethod): unknown {
  if (method === 'browser.status') return { running: false };
  if (method === 'browser.stop') return { stopped: true };
  throw new ServiceError('FAILED_PRECONDITION', 'No browser is running. browser.start, browser.navigate and browser.open start one.');
}

function disabled(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', 'The browser is off: set browser.enabled to true.', {
    details: { reason: 'BROWSER_DISABLED' },
  });
}
