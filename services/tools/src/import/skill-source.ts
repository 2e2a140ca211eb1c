import { SKILL_FILE } from '../skills/skill-paths.ts';
import type { Downloads } from './downloads.ts';
import { parseGithubAddress } from './github-address.ts';
import { readGithubFolder } from './github-folder.ts';
import { decodeText, refuseUrl, type ImportedFiles } from './text-files.ts';

/** Bytes of a SKILL.md or of an archive as it is sent. */
const MAX_DOWNLOAD_BYTES = 16 * 1024 * 1024;

/** Reads a skill from a folder on GitHub, a .zip archive, or the address of a SKILL.md. Archives are recognized by their bytes. */
export async function readSkillSource(address: string, downloads: Downloads, signal: AbortSignal): Promise<ImportedFiles> {
  const folder = parseGithubAddress(new URL(address));
  if (folder) return readGithubFolder(folder, { downloads, signal });
  const bytes = await downloads.get(address, { signal, maxBytes: MAX_DOWNLOAD_BYTES });
  // Loads the ZIP library on its first use.
  const { isZip, readZipSkill } = await import('./zip-archive.ts');
  if (isZip(bytes)) return readZipSkill(bytes);
  const content = decodeText(bytes);
  if (content === undefined) throw refuseUrl('a folder on GitHub, a .zip archive or a SKILL.md', 'another binary file');
  return { files: [{ path: SKILL_FILE, content }], skippedFiles: 0 };
}
