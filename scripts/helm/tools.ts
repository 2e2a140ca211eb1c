import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Paths of the programs that test charts. What cannot be installed here is undefined. */
export interface ChartTools {
  helm: string;
  kubeconform: string | undefined;
  /** Folder with the JSON Schemas of Kubernetes. */
  schemas: string | undefined;
}

const FOLDER = fileURLToPath(new URL('../../.tools/helm', import.meta.url));
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.22.0';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0';
const SCHEMAS = 'kubernetes-validate==1.37.0';

/** Installs the tools once, with Go and pip. Throws if there is no Helm and no Go. */
export function installTools(onProgress: (text: string) => void): ChartTools {
  return {
    helm: installHelm(onProgress),
    kubeconform: tryTo(() => goTool('kubeconform', KUBECONFORM, onProgress)),
    schemas: tryTo(() => installSchemas(onProgress)),
  };
}

/** Installs Helm once, with Go, and returns its path. */
export function installHelm(onProgress: (text: string) => void): string {
  return goTool('helm', HELM, onProgress);
}

function goTool(name: string, module: string, onProgress: (text: string) => void): string {
  const program = join(FOLDER, name);
  if (existsSync(program)) return program;
  mkdirSync(FOLDER, { recursive: true });
  onProgress(`building ${module} (a few minutes, once)`);
  execFileSync('go', ['install', module], { env: { ...process.env, GOBIN: FOLDER }, stdio: ['ignore', 'ignore', 'pipe'] });
  return program;
}

/** The schemas name each other by addresses of a server; here they are files. */
function installSchemas(onProgress: (text: string) => void): string {
  const schemas = join(FOLDER, 'schemas');
  if (existsSync(schemas)) return schemas;
  onProgress('downloading the schemas of Kubernetes (once)');
  const download = join(FOLDER, 'download');
  rmSync(download, { recursive: true, force: true });
  execFileSync('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', download, SCHEMAS], { stdio: 'pipe' });
  const source = join(download, 'kubernetes_validate', 'kubernetes-json-schema');
  for (const version of readdirSync(source)) {
    for (const file of readdirSync(join(source, version))) {
      const path = join(source, version, file);
      writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, 'utf8'), localReference)));
    }
  }
  renameSync(source, schemas);
  rmSync(download, { recursive: true });
  return schemas;
}

function localReference(key: string, value: unknown): unknown {
  if (key === '$id' && typeof value === 'string') return undefined;
  return key === '$ref' && typeof value === 'string' ? value.replace(/^.*\/(?=_definitions\.json#)/, '') : value;
}

function tryTo<T>(install: () => T): T | undefined {
  try {
    return install();
  } catch {
    return undefined;
  }
}
