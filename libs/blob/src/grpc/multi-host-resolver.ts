import { experimental, type ChannelOptions } from '@grpc/grpc-js';

type Found = Parameters<experimental.ResolverListener>[0];

const SCHEME = 'switchyard-hosts';

/** How gRPC is told of several servers, `host:port,host:port`, of which one is taken: the first that can be reached. */
export function severalHosts(hosts: string): string {
  experimental.registerResolver(SCHEME, SeveralHosts);
  return `${SCHEME}:${hosts}`;
}

/** gRPC resolves one name, or takes a list of addresses, but no list of names. Each is resolved as it would be alone. */
class SeveralHosts implements experimental.Resolver {
  readonly #resolvers: experimental.Resolver[];
  readonly #found: (Found | undefined)[];
  readonly #listener: experimental.ResolverListener;

  constructor({ path }: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
    this.#listener = listener;
    const hosts = path.split(',');
    this.#found = hosts.map(() => undefined);
    this.#resolvers = hosts.map((host, at) =>
      experimental.createResolver({ scheme: 'dns', path: host }, (found) => this.#tell(at, found), options),
    );
  }

  /** Certificates are held against the first name, as with a list of addresses. */
  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path.split(',', 1)[0] ?? '';
  }

  updateResolution(): void {
    for (const resolver of this.#resolvers) resolver.updateResolution();
  }

  destroy(): void {
    for (const resolver of this.#resolvers) resolver.destroy();
  }

  /** A name that is not known takes nothing from the others. */
  #tell(at: number, found: Found): boolean {
    this.#found[at] = found;
    const all = this.#found.filter((one) => one !== undefined);
    if (all.length < this.#found.length) return true;
    const known = all.flatMap((one) => (one.ok ? one.value : []));
    if (known.length === 0) return this.#listener(found, {}, null, '');
    // The same address twice is never given up.
    const distinct = new Map(known.map((endpoint) => [experimental.endpointToString(endpoint), endpoint]));
    return this.#listener({ ok: true, value: [...distinct.values()] }, {}, null, '');
  }
}
