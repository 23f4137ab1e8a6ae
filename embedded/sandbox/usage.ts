import type { SandboxFault } from './faults.ts';

/** OpenAI's usage object for text, as the fault wants it; `undefined` where none is to be shown. */
export function usageOf(
  fault: SandboxFault,
  prompt: number,
  completion: number,
): Record<string, unknown> | undefined {
  if (fault.usage === 'none') return undefined;
  const [promptTokens, completionTokens] = fault.usage === 'zero' ? [0, 0] : [prompt, completion];
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(fault.cached ?? 0, promptTokens) },
    completion_tokens_details: { reasoning_tokens: 0 },
    ...reportedEnergy(fault),
  };
}

/** The measured energy, where the fault says that it is reported in the usage object. */
export function reportedEnergy(fault: SandboxFault): { energy_joules?: number } {
  const { joules } = fault;
  return joules === undefined || fault['joules-in'] === 'header' ? {} : { energy_joules: joules };
}
