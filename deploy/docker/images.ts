import { isBuilt, SERVICES, type ServiceName } from '@switchyard/contracts';

/** The content of an image. */
export interface Image {
  /** The program that it runs by default. */
  program: string;
  /** The module that is compiled while the image is built. Loading it starts nothing. */
  loads: string;
  /** Packages of this repository, included with their run-time dependencies. */
  packages: readonly string[];
  /** Other files. */
  files: readonly string[];
}

/** Included in every image: reports whether its process is ready. */
const HEALTHCHECK = 'deploy/docker/healthcheck.ts';

/** Jobs that run before the services: passwords, and the streams and buckets of the bus. */
const jobs: Image = {
  program: './deploy/nats/provision.ts',
  loads: '@switchyard/service-kit',
  packages: ['libs/service-kit'],
  files: ['deploy/nats/provision.ts', 'deploy/docker/make-keys.ts'],
};

/** All images by name, which is the build argument: one per implemented service, and one for the jobs. */
export const images: ReadonlyMap<string, Image> = new Map([
  ...SERVICES.filter((name) => name === 'gateway' || isBuilt(name)).map((name): [string, Image] => [name, serviceImage(name)]),
  ['jobs', jobs],
]);

function serviceImage(name: ServiceName): Image {
  return {
    program: `./services/${name}/src/main.ts`,
    loads: `./services/${name}/src/service.ts`,
    packages: [`services/${name}`],
    files: [HEALTHCHECK, 'proto'],
  };
}
