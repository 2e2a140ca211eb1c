import { experimental, type ChannelOptions } from '@grpc/grpc-js';

type ResolverResult = Parameters<experimental.ResolverListener>[0];

const SCHEME = 'switchyard-hosts';

/** Returns the target for several servers, `host:port,host:port`. gRPC connects to the first that it can reach. */
export function registerHosts(hosts: string): string {
  experimental.registerResolver(SCHEME, MultiHostResolver);
  return `${SCHEME}:${hosts}`;
}

/** Resolves a list of host names. gRPC itself supports one name or a list of addresses. */
class MultiHostResolver implements experimental.Resolver {
  readonly #resolvers: experimental.Resolver[];
  readonly #results: (ResolverResult | undefined)[];
  readonly #listener: experimental.ResolverListener;

  constructor({ path }: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
    this.#listener = listener;
    const hosts = path.split(',');
    this.#results = hosts.map(() => undefined);
    this.#resolvers = hosts.map((host, index) =>
      experimental.createResolver({ scheme: 'dns', path: host }, (result) => this.#handleResult(index, result), options),
    );
  }

  /** Certificates are verified against the first name, as for a list of addresses. */
  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path.split(',', 1)[0] ?? '';
  }

  updateResolution(): void {
    for (const resolver of this.#resolvers) resolver.updateResolution();
  }

  destroy(): void {
    for (const resolver of this.#resolvers) resolver.destroy();
  }

  /** Reports the endpoints of all names that resolve. Fails only if no name resolves. */
  #handleResult(index: number, result: ResolverResult): boolean {
    this.#results[index] = result;
    const results = this.#results.filter((one) => one !== undefined);
    if (results.length < this.#results.length) return true;
    const endpoints = results.flatMap((one) => (one.ok ? one.value : []));
    if (endpoints.length === 0) return this.#listener(result, {}, null, '');
    // With a duplicate address gRPC would try to connect forever.
    const distinct = new Map(endpoints.map((endpoint) => [experimental.endpointToString(endpoint), endpoint]));
    return this.#listener({ ok: true, value: [...distinct.values()] }, {}, null, '');
  }
}
