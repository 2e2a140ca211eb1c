import { isBuilt, SERVICES, type ServiceName } from '@switchyard/contracts';

/** What an image is made of. */
export interface Image {
  /** What it runs, unless it is told to run something else. */
  program: string;
  /** What is compiled while the image is built: loading it starts nothing. */
  loads: string;
  /** Packages of this repository; with each comes all that it needs at run time. */
  packages: readonly string[];
  /** Files beside them. */
  files: readonly string[];
}

/** In every image: says whether the process in it can work. */
const HEALTHCHECK = 'deploy/docker/healthcheck.ts';

/** What run before the services: passwords, and what the bus keeps. */
const jobs: Image = {
  program: './deploy/nats/provision.ts',
  loads: '@switchyard/service-kit',
  packages: ['libs/service-kit'],
  files: ['deploy/nats/provision.ts', 'deploy/docker/make-keys.ts'],
};

/** Every image by its name, which is the build argument: one for each service that some code answers for, and one for the jobs. */
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
