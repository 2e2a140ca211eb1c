import { readFileSync } from 'node:fs';
import { isBuilt, SERVICES, type ServiceName } from '@switchyard/contracts';

/** What the chart of a service has to know beside its name. */
export interface ServiceChart {
  name: ServiceName;
  /** From the package of the service: a service is released with its own version. */
  version: string;
  description: string;
  /** Opens a document store. */
  database: boolean;
  /** Reaches addresses outside of the cluster. */
  outside: boolean;
  /** Stores and serves large payloads for all services. */
  keepsBlobs: boolean;
  /** Listening ports by name, beside the probes. */
  ports: Readonly<Record<string, number>>;
  /** Environment variables that only this service has. */
  variables: Readonly<Record<string, string>>;
}

/** The service that stores large payloads, and its port, as in docker-compose.yml. */
export const BLOB_KEEPER: ServiceName = 'registry';
export const BLOB_PORT = 9480;
const HTTP_PORT = 4766;

const OUTSIDE = ['@switchyard/egress', '@switchyard/models'];

const PORTS: Partial<Record<ServiceName, Record<string, number>>> = {
  gateway: { http: HTTP_PORT },
  [BLOB_KEEPER]: { blobs: BLOB_PORT },
};

const VARIABLES: Partial<Record<ServiceName, Record<string, string>>> = {
  gateway: { SWITCHYARD_HOST: '0.0.0.0', SWITCHYARD_PORT: String(HTTP_PORT), SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: '5000' },
  secrets: { SECRETS_MASTER_KEY_FILE: '/run/keys/master-key', SWITCHYARD_TOKEN_FILE: '/run/keys/token' },
};

interface Manifest {
  version: string;
  description: string;
  dependencies?: Record<string, string>;
}

/** All implemented services with the facts of their packages. */
export function serviceCharts(): ServiceChart[] {
  return SERVICES.filter((name) => name === 'gateway' || isBuilt(name)).map((name) => {
    const manifest = readManifest(name);
    const dependencies = Object.keys(manifest.dependencies ?? {});
    return {
      name,
      version: manifest.version,
      description: manifest.description,
      database: dependencies.includes('@switchyard/store'),
      outside: dependencies.some((dependency) => OUTSIDE.includes(dependency)),
      keepsBlobs: name === BLOB_KEEPER,
      ports: PORTS[name] ?? {},
      variables: VARIABLES[name] ?? {},
    };
  });
}

function readManifest(name: ServiceName): Manifest {
  return JSON.parse(readFileSync(new URL(`../../../services/${name}/package.json`, import.meta.url), 'utf8')) as Manifest;
}
