import type { Bus, Ctx, Handlers } from '@switchyard/bus';
import { callables, ServiceError, type AuditKind, type AuditOutcome, type Contract, type ServiceName } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { getKey, type Looks, type ReadAccess } from './read-access-log.ts';

/** Timeout of `audit.finish`, independent of the deadline of the audited call. */
const FINISH_MS = 5_000;
const ATTEMPTS = 3;
const MAX_CHARS = 128;

/** Params that name the target of a call. No other params are written to the audit log. */
const NAMES = ['id', 'agentId', 'agent_id', 'section', 'key', 'name', 'module', 'level', 'sha', 'session_key', 'graphId', 'filePath'];

type AnyHandler = (params: object, ctx: Ctx) => unknown;

interface AuditDeps {
  bus: Pick<Bus, 'as'>;
  service: ServiceName;
  replica: string;
  looks: Pick<Looks, 'note'>;
}

/**
 * Writes every call that the contract marks as audited to the audit log: its begin before the handler runs, its outcome before the
 * reply. Rejects the call before the handler runs if the begin cannot be written. Read accesses of admins are counted and sent later.
 */
export function audited<C extends Contract>(handlers: Handlers<C>, options: AuditDeps): Handlers<C> {
  const entries = Object.entries(handlers as Record<string, AnyHandler>).map(([name, handler]) => {
    const { audited: kind, looked = false } = callables.get(name) ?? {};
    if (kind !== undefined) return [name, recorded(handler, { ...options, method: name, kind })] as const;
    return [name, looked ? counted(handler, options.looks, name) : handler] as const;
  });
  return Object.fromEntries(entries) as Handlers<C>;
}

function recorded(
  handler: AnyHandler,
  { bus, method, kind, service, replica }: AuditDeps & { method: string; kind: AuditKind },
): AnyHandler {
  return async (params, ctx) => {
    const { principal, deadline, log, requestId } = ctx;
    const id = mintId('audit');
    await ctx
      .call('audit.begin', { id, method, kind, target: namesIn(params, NAMES), requestId, service, replica, deadline: Math.ceil(deadline) })
      .catch((cause: unknown) => Promise.reject(notBegun(method, cause)));
    const finish = async (outcome: AuditOutcome, code?: string): Promise<void> => {
      const message = { id, outcome, ...(code === undefined ? {} : { code }) };
      for (let attempt = 1; ; attempt++) {
        try {
          await bus.as(principal).call('audit.finish', message, { timeoutMs: FINISH_MS, requestId });
          return;
        } catch (err) {
          if (attempt < ATTEMPTS) continue;
          log.error(
            { err, auditId: id, outcome },
            'failed to write the outcome of a call to the audit log; it will be recorded as unknown',
          );
          throw notFinished(method, err);
        }
      }
    };
    let result: unknown;
    try {
      result = await handler(params, ctx);
    } catch (error) {
      const { outcome, code } = getEnding(error);
      // The caller receives the error of the handler, even if its outcome could not be recorded.
      await finish(outcome, code).catch(() => undefined);
      throw error;
    }
    await finish('success');
    return result;
  };
}

/** Counts the access once the handler has finished. Does not delay the reply. */
function counted(handler: AnyHandler, looks: Pick<Looks, 'note'>, method: string): AnyHandler {
  const names = getNames(method);
  const bare: ReadAccess = { method, target: {}, ...SEEN };
  const seen: ReadAccess = { ...bare, key: getKey(bare) };
  const succeeded = (params: object, ctx: Ctx): void =>
    looks.note(ctx, names.length === 0 ? seen : { ...bare, target: namesIn(params, names) });
  const failed = (params: object, ctx: Ctx, error: unknown): void =>
    looks.note(ctx, { method, target: namesIn(params, names), ...getEnding(error) });
  return (params, ctx) => {
    let result: unknown;
    try {
      result = handler(params, ctx);
    } catch (error) {
      failed(params, ctx, error);
      throw error;
    }
    if (!(result instanceof Promise)) succeeded(params, ctx);
    else
      void result.then(
        () => succeeded(params, ctx),
        (error: unknown) => failed(params, ctx, error),
      );
    return result;
  };
}

interface Ending {
  outcome: AuditOutcome;
  code?: string;
}

const SEEN: Ending = { outcome: 'success' };

function getEnding(error: unknown): Required<Ending> {
  const code = error instanceof ServiceError ? error.code : 'INTERNAL';
  return { outcome: code === 'PERMISSION_DENIED' ? 'denied' : 'failure', code };
}

/** Lists the target fields that the params of a method can contain. */
function getNames(method: string): readonly string[] {
  const shape = (callables.get(method)?.spec.params as { shape?: object } | undefined)?.shape;
  return shape === undefined ? NAMES : NAMES.filter((name) => name in shape);
}

function namesIn(params: object, among: readonly string[]): Record<string, string> {
  const paramFields = params as Record<string, unknown>;
  const names = among.filter((name) => typeof paramFields[name] === 'string' && Object.hasOwn(paramFields, name));
  return Object.fromEntries(names.slice(0, 10).map((name) => [name, String(paramFields[name]).slice(0, MAX_CHARS).toWellFormed()]));
}

function notBegun(method: string, cause: unknown): ServiceError {
  return new ServiceError('UNAVAILABLE', `${method} was not executed, because the audit log is not available. Retry the call.`, {
    details: { reason: 'AUDIT_AWAY', retryable: true },
    cause,
  });
}

function notFinished(method: string, cause: unknown): ServiceError {
  return new ServiceError(
    'UNAVAILABLE',
    `${method} was executed, but its outcome is not in the audit log yet. Check the result before you retry.`,
    {
      details: { reason: 'AUDIT_LATE', retryable: false },
      cause,
    },
  );
}
