import { contracts, ServiceError } from '@switchyard/contracts';
import type { Host } from '@switchyard/service-kit';

/** Serves the operations on files of the workspace service from memory. Returns the contents by path. */
export async function serveFiles(host: Host): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  await (
    await host.connect('workspace')
  ).serve(
    contracts.workspace,
    {
      'files.read': ({ path, offset, limit, encoding }) => {
        const content = files.get(path);
        if (content === undefined) throw new ServiceError('NOT_FOUND', `The file ${path} does not exist.`);
        const lines = content.split('\n');
        const part = lines.slice(offset, limit === undefined ? undefined : offset + limit).join('\n');
        const sizeBytes = Buffer.byteLength(content);
        return { content: encoding === 'base64' ? Buffer.from(part).toString('base64') : part, sizeBytes, lines: lines.length };
      },
    },
    { version: '0.0.0' },
  );
  return files;
}
