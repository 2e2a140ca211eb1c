export { memory } from './service.ts';
