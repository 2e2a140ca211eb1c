import { fileURLToPath } from 'node:url';
import { credentials, loadPackageDefinition, type ClientReadableStream, type GrpcObject, type ServiceError } from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';

const PROTOS = fileURLToPath(new URL('../../../../proto', import.meta.url));

interface Answer {
  status: string;
}

interface Stub {
  Check(request: { service: string }, options: { deadline: number }, answer: (error: ServiceError | null, response: Answer) => void): void;
  Watch(request: { service: string }): ClientReadableStream<Answer>;
  close(): void;
}

export interface HealthClient extends Disposable {
  check(service: string): Promise<string>;
  watch(service: string): { next(): Promise<string> } & Disposable;
}

/** Opens a gRPC health client. */
export async function healthClient(address: string): Promise<HealthClient> {
  const loaded = loadPackageDefinition(await load('grpc/health/v1/health.proto', { includeDirs: [PROTOS], enums: String, defaults: true }));
  const { Health } = ((loaded['grpc'] as GrpcObject)['health'] as GrpcObject)['v1'] as unknown as {
    Health: new (address: string, how: unknown) => Stub;
  };
  const stub = new Health(address, credentials.createInsecure());
  return {
    check: (service) =>
      new Promise((resolve, reject) => {
        stub.Check({ service }, { deadline: Date.now() + 5_000 }, (error, response) => (error ? reject(error) : resolve(response.status)));
      }),
    watch(service) {
      const call = stub.Watch({ service });
      call.on('error', () => undefined);
      const answers = call[Symbol.asyncIterator]() as AsyncIterator<Answer>;
      return {
        next: async () => ((await answers.next()).value as Answer).status,
        [Symbol.dispose]: () => call.cancel(),
      };
    },
    [Symbol.dispose]: () => stub.close(),
  };
}
