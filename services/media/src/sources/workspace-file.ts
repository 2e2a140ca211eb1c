import type { Bus } from '@switchyard/bus';
import { ServiceError, type Principal } from '@switchyard/contracts';
import { fileTooLarge } from './file-too-large.ts';
import type { SourceFile } from './source-file.ts';

export interface WorkspaceFileOptions {
  principal: Principal;
  signal: AbortSignal;
  maxBytes: number;
}

/** Reads a file of the agent's workspace. The workspace service checks the path; its refusals of a place are NOT_FOUND. */
export async function readWorkspaceFile(
  bus: Bus,
  path: string,
  { principal, signal, maxBytes }: WorkspaceFileOptions,
): Promise<SourceFile> {
  const { content, sizeBytes } = await bus
    .as(principal)
    .call('files.read', { path, encoding: 'base64' }, { signal })
    .catch((error: unknown) => {
      throw convertError(error, path);
    });
  if (sizeBytes > maxBytes) throw fileTooLarge(sizeBytes, maxBytes);
  return { bytes: new Uint8Array(Buffer.from(content, 'base64')), fileName: path.split('/').at(-1) ?? path };
}

function convertError(error: unknown, path: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.details.reason === 'NO_RESPONDERS') {
    const message =
      'files of a workspace need the workspace service, which is not running: start it, or pass the file as an address or base64';
    return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'WORKSPACE_NOT_INSTALLED' }, cause: error });
  }
  const isRefusal = error.code === 'INVALID_ARGUMENT' || error.code === 'PERMISSION_DENIED';
  return isRefusal ? new ServiceError('NOT_FOUND', `the workspace has no file ${path.slice(0, 200)}`, { cause: error }) : error;
}
