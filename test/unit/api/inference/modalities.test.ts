import { describe, expect, it } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import { checkModalities, mediaIn } from '#api/inference/modalities.ts';
import { model } from '#test/unit/catalogue/routed-catalogue.ts';

const text = { type: 'text', text: 'What is this?' };
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
const audio = { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } };

function faultOf(modalities: string[] | undefined, ...content: object[]): Fault | undefined {
  const { modalities: _, ...unknown } = model('m', []);
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'assistant', content: null },
    { role: 'user', content },
  ];
  try {
    checkModalities(
      modalities === undefined ? unknown : { ...unknown, modalities },
      mediaIn('messages', messages),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

describe('parts of messages', () => {
  it(
    'parts of a kind that the model does not take are refused with their place, before an upstream fails on them',
    { tags: ['codes.unsupported_modality'] },
    () => {
      expect(faultOf(['text'], text, image)).toMatchObject({
        code: 'unsupported_modality',
        status: 400,
        param: 'messages[2].content[1]',
        message: 'The model m takes text only.',
      });
      expect(faultOf(['text', 'image'], image, text, audio)).toMatchObject({
        param: 'messages[2].content[2]',
      });
    },
  );

  it('parts pass that the model takes, and all of them where the catalogue does not say what it takes', () => {
    expect(faultOf(['text', 'image'], text, image)).toBeUndefined();
    expect(faultOf(undefined, text, image, audio)).toBeUndefined();
  });
});
