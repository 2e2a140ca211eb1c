import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAMS } from '../paths.ts';
import { LINK_FLAGS, runGo } from './go.ts';

const COREDNS = 'github.com/coredns/coredns@v1.15.0';
const SOURCE = fileURLToPath(new URL('dns/main.go', import.meta.url));

/** Builds CoreDNS with the plugins of a test cluster, as a static program. */
export function buildDns(): void {
  const folder = mkdtempSync(join(PROGRAMS, '.dns-'));
  try {
    copyFileSync(SOURCE, join(folder, 'main.go'));
    runGo(['mod', 'init', 'dns'], folder);
    runGo(['get', COREDNS], folder);
    runGo(['mod', 'tidy'], folder);
    runGo(['build', '-ldflags', LINK_FLAGS, '-o', 'coredns', '.'], folder, { CGO_ENABLED: '0' });
    renameSync(join(folder, 'coredns'), join(PROGRAMS, 'coredns'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
