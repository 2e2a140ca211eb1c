import { z } from 'zod';

export const instant = z.int().nonnegative();

export const count = z.int().nonnegative();
