import { describe, expect, it } from 'vitest';
import { recordedAnswers } from '#test/support/recorded-answers.ts';

describe('recorded answers of real model servers', () => {
  it.each(recordedAnswers())('%s, %s: holds no credential and no path of a machine', (...row) => {
    const text = JSON.stringify(row[2]);
    expect(text).not.toMatch(/sk-[a-z]|\/(?:home|root|tmp|Users)\//);
  });
});
