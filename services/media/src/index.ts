export { media } from './service.ts';
