# An image that starts without compiling: tailwise is compiled during the build, for a processor that nearly all
# machines have. It needs no writable folder:
#
#     docker build -t tailwise .
#     docker run --rm --read-only --user "$(id -u)" -v "$PWD:/data" -w /data tailwise \
#         select probabilities.npz -u macro-f1 -k 5 -o chosen.npz

FROM python:3.12-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels /source

FROM python:3.12-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels tailwise \
    && tailwise warm-up --all --portable --quiet
USER nobody
ENTRYPOINT ["tailwise"]
