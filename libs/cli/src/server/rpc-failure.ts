import type { RpcError } from '@switchyard/client';
import { giveToken, type Where } from './server-location.ts';
import { Failure, type FailureDetail } from '../output/failure.ts';
import { quote, self } from './installation.ts';

/** Returns whether an error is an RpcError, without loading the client package. */
export function isRpcError(error: unknown): error is RpcError {
  return error instanceof Error && error.name === 'RpcError';
}

/** Converts an RpcError to a failure with a suggested command. `next` is used for errors of the call itself. */
export function explain(error: RpcError, where: Where, next: string): Failure {
  const { code, reason, requestId, turnId, retryAfterMs, issues } = error.data;
  const detail: FailureDetail = {
    code,
    ...(reason === undefined ? {} : { reason }),
    ...(requestId === '' ? {} : { requestId }),
    ...(turnId === undefined ? {} : { turnId }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(issues === undefined ? {} : { issues }),
  };
  const { sentence, command } = put(error, where, next);
  return new Failure(sentence, command, { detail, cause: error });
}

/** Returns the sentence of an RpcError without a suggested command. */
export function sentenceFor(error: RpcError, where: Where): string {
  return put(error, where, '').sentence;
}

interface Advice {
  sentence: string;
  command: string;
}

function put(error: RpcError, where: Where, next: string): Advice {
  const { code, reason, retryAfterMs, issues } = error.data;
  const sentence = asSentence(issues?.length ? summary(error.message) : error.message);
  if (reason === 'CONNECTION_LOST') return unreachable(error, where);
  if (isScopeMissing(error)) return { sentence, command: giveToken(where) };
  switch (code) {
    case 'UNAUTHENTICATED':
      return refusedToken(where);
    case 'RESOURCE_EXHAUSTED':
      return tooMuch(sentence, retryAfterMs);
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
    case 'CANCELLED':
    case 'ABORTED':
      return { sentence, command: `${self()} status` };
    case 'INTERNAL':
    case 'UNKNOWN':
    case 'DATA_LOSS':
      return { sentence, command: lookInLog(error, where) };
    default:
      return { sentence, command: next };
  }
}

/** Returns whether a scope is missing. One such error has a fixed text and the code of an internal error. */
function isScopeMissing({ message, data }: RpcError): boolean {
  return data.code === 'PERMISSION_DENIED' || message.startsWith('Insufficient scope');
}

function tooMuch(sentence: string, retryAfterMs: number | undefined): Advice {
  if (retryAfterMs === undefined) return { sentence, command: `${self()} status` };
  const seconds = Math.ceil(retryAfterMs / 1000);
  return { sentence: `${sentence} Retry in ${seconds} s.`, command: `sleep ${seconds}` };
}

/** Returns a command that searches the local log for the request, which has the cause of the error. */
function lookInLog({ data }: RpcError, { run }: Where): string {
  const log = run?.processes[0]?.log;
  if (log === undefined || data.requestId === '') return `${self()} status`;
  return `grep ${quote(data.requestId)} ${quote(log)}`;
}

function unreachable(error: RpcError, { url, urlFrom, local }: Where): Advice {
  const code = systemCode(error);
  if (code === 'ECONNREFUSED')
    return { sentence: `No server answers at ${url}.`, command: local ? `${self()} start` : `curl -v ${quote(`${url}/health`)}` };
  if (code === 'ENOTFOUND')
    return {
      sentence: `The host name in ${url} cannot be resolved.`,
      command: urlFrom === 'SWITCHYARD_URL' ? 'unset SWITCHYARD_URL' : `${self()} status`,
    };
  return { sentence: `The connection to ${url} was lost${code === undefined ? '' : ` (${code})`}.`, command: `${self()} status` };
}

function refusedToken(where: Where): Advice {
  const { url, tokenFrom, local, data } = where;
  if (tokenFrom === 'saved') {
    return {
      sentence: `${url} no longer accepts the token saved in ${data}, because it was rotated or revoked. Use another token, or start the server with SWITCHYARD_TOKEN set.`,
      command: giveToken(where),
    };
  }
  const sentence = `${url} does not accept the token in ${tokenFrom ?? 'the call'}.`;
  const fromEnvironment = tokenFrom === 'SWITCHYARD_TOKEN' || tokenFrom === 'SWITCHYARD_TOKEN_FILE';
  return { sentence, command: local && fromEnvironment ? `unset ${tokenFrom}` : giveToken(where) };
}

/** Finds the system error code in the chain of causes. fetch wraps it, possibly in an AggregateError. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return systemCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}

/** Returns the part of the message before the details that the issues repeat. */
function summary(message: string): string {
  return message.split(':')[0] ?? message;
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
