import { isBuilt, SERVICES, type ServiceName } from '@switchyard/contracts';

/** The service that keeps large payloads for all others. */
const BLOB_KEEPER: ServiceName = 'registry';

/** Variables of a container besides those of all services, as YAML, each with its comment. */
const ENVIRONMENT: Partial<Record<ServiceName, readonly (readonly string[])[]>> = {
  gateway: [
    ['# Limits of clients are counted together; no other service keeps anything in a cache.', 'SWITCHYARD_CACHE_FILE: /run/keys/cache-url'],
    ["# The balancer is this machine's own: beyond it, a proxy has to end TLS.", "SWITCHYARD_GATEWAY__ALLOW_INSECURE_HTTP: 'true'"],
    ["SWITCHYARD_GATEWAY__DRAIN_DELAY_MS: '5000'"],
    ['SWITCHYARD_GATEWAY__PUBLIC_URL: http://127.0.0.1:${SWITCHYARD_PORT:-4766}'],
    ['SWITCHYARD_HOST: 0.0.0.0'],
    ["SWITCHYARD_PORT: '4766'"],
  ],
  sessions: [['OPENAI_BASE_URL:']],
  registry: [
    ['OPENAI_BASE_URL:'],
    ['# What is too large for the bus is kept here, in GridFS, for all of them.', 'SWITCHYARD_BLOB_HOST: 0.0.0.0'],
    ["SWITCHYARD_BLOB_PORT: '9480'"],
    ['SWITCHYARD_BLOBS_FILE: /run/keys/blobs-url'],
  ],
  secrets: [['OPENAI_API_KEY:'], ['SECRETS_MASTER_KEY:'], ['SWITCHYARD_TOKEN_FILE: /run/keys/token']],
};

/** Renders the containers of all implemented services. */
export function composeServices(): string {
  return SERVICES.filter((name) => name === 'gateway' || isBuilt(name))
    .map(container)
    .join('\n');
}

function container(name: ServiceName): string {
  const blobs = name === BLOB_KEEPER ? [] : [['SWITCHYARD_BLOBS: grpc://registry:9480']];
  const variables = [...blobs, [`SWITCHYARD_BUS_USER: ${name}`], ...(ENVIRONMENT[name] ?? [])];
  const lines = variables.toSorted((one, other) => (one.at(-1) ?? '').localeCompare(other.at(-1) ?? '')).flat();
  return `  ${name}:
    <<: *service
    build:
      context: .
      dockerfile: deploy/docker/Dockerfile
      args:
        IMAGE: ${name}
    volumes:
      - type: volume
        source: keys
        target: /run/keys
        read_only: true
        volume:
          subpath: ${name}
    environment:
      <<: *environment
${lines.map((line) => `      ${line}\n`).join('')}`;
}
