import { describe, expect, it } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import { checkAddresses, checkModalities, mediaIn } from '#api/inference/modalities.ts';
import { read } from '#api/inference/read.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { model } from '#test/unit/catalogue/routed-catalogue.ts';
import { thrownBy } from '#test/support/thrown-by.ts';
import { CREDENTIAL, NOW, REQUEST_ID } from './doubles.ts';

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
  const one = modalities === undefined ? unknown : { ...unknown, modalities };
  return thrownBy(Fault, () => checkModalities(one, mediaIn('messages', messages)));
}

describe('parts of messages', () => {
  it('parts of a kind that the model does not take are refused with their place, before an upstream fails on them [codes.unsupported_modality]', () => {
    expect(faultOf(['text'], text, image)).toMatchObject({
      code: 'unsupported_modality',
      status: 400,
      param: 'messages[2].content[1]',
      message: 'The model m takes text only.',
    });
    expect(faultOf(['text', 'image'], image, text, audio)).toMatchObject({
      param: 'messages[2].content[2]',
    });
  });

  it('parts pass that the model takes, and all of them where the catalogue does not say what it takes', () => {
    expect(faultOf(['text', 'image'], text, image)).toBeUndefined();
    expect(faultOf(undefined, text, image, audio)).toBeUndefined();
  });
});

describe('addresses of media', () => {
  const address = 'http://169.254.169.254/latest';
  const faultOfAddress = (taken: 'any' | 'data', ...content: object[]): unknown => {
    try {
      const messages = [{ role: 'user', content }];
      return checkAddresses(taken, 'messages', mediaIn('messages', messages));
    } catch (error) {
      return error;
    }
  };

  it.each([
    { type: 'image_url', image_url: { url: address } },
    { type: 'image_url', image_url: { url: '/etc/passwd' } },
    { type: 'audio_url', audio_url: { url: 'file:///etc/passwd' } },
    { type: 'video_url', video_url: { url: ' data:image/png;base64,AA' } },
    { type: 'input_image', image_url: address },
    { type: 'input_file', file_data: address },
    { type: 'file', file: { file_data: address } },
    { type: 'file', file: { file_data: 'AA==', file_url: address } },
    { type: 'file', file: { file_id: address } },
    { type: 'input_audio', input_audio: { data: address, format: 'wav' } },
    { type: 'text', text: 'Look.', image_url: { url: address } },
    { type: 'image', image: address },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', source: address } },
    { type: 'input_image', image: [address] },
    { type: 'image', image: [`${address}?a b`] },
  ])('are refused with their place where only data are taken: %j', (part) => {
    expect(faultOfAddress('data', image, part)).toMatchObject({
      code: 'invalid_messages',
      param: 'messages[0].content[1]',
    });
    expect(faultOfAddress('any', image, part)).toBeUndefined();
  });

  it('are not seen in media that bring their data', () => {
    const file = {
      type: 'file',
      file: { file_data: 'data:text/plain;base64,AA==', filename: 'a: b' },
    };
    const found = { type: 'input_image', image_url: 'DATA:image/png;base64,AA' };
    expect(faultOfAddress('data', text, image, audio, file, found)).toBeUndefined();
  });
});

describe('media of a request whose interface has no messages', () => {
  const address = 'http://169.254.169.254/latest';
  function mediaOf(route: Route, body: object): unknown {
    const rawBody = Buffer.from(JSON.stringify({ model: 'm', ...body }));
    const { unrouted } = read(
      { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'api-1', shards: 1 },
      { id: REQUEST_ID, route, rawBody, headers: {}, credential: CREDENTIAL, now: NOW },
    );
    return unrouted.asked.media;
  }

  it.each([[[]], [5], [null], ['x'], [[null]], [[{ content: 'x' }]]])(
    'are those of its input, with anything in a member of that name: %j',
    (messages) => {
      const content = [{ type: 'input_image', image_url: address }];
      expect(mediaOf('responses', { messages, input: [{ role: 'user', content }] })).toEqual([
        { modality: 'image', isElsewhere: true, param: 'input[0].content[0]' },
      ]);
      expect(mediaOf('completions', { messages, prompt: 'x' })).toBeUndefined();
      expect(mediaOf('embeddings', { messages, input: 'x' })).toBeUndefined();
    },
  );

  it.each<[Route, object]>([
    ['responses', { input: 'x' }],
    ['completions', { prompt: 'x' }],
    ['embeddings', { input: 'x' }],
  ])('are also what such a member of %s names, which some servers read', (route, body) => {
    const content = [{ type: 'image_url', image_url: { url: address } }];
    expect(mediaOf(route, { ...body, messages: [{ role: 'user', content }] })).toEqual([
      { isElsewhere: true, param: 'messages' },
    ]);
  });
});
